// One card per loss: title, how faithful the map is, the map itself, beside it its numbers, below what they say.

import { difference } from "../common/baseline.js";
import { el, figure, grouped, say, swatch } from "../common/dom.js";
import { filled, signed } from "../common/measures.js";
import { brief, inFull } from "../common/names.js";
import { explained } from "./explained.js";
import { Truth } from "./truth.js";

/** Never 0 % for something, never 100 % for less than all. */
const percent = (share) => `${share === 1 ? 100 : Math.min(99, Math.max(1, Math.round(100 * share)))} %`;

export class Card {
  /** `about`: the measures of the run's kind, as the server sends them. */
  constructor(arm, title, about) {
    this.arm = arm;
    this.about = about;
    this.title = el("h3", { class: "rs-clamp", text: brief(title, 120), title: inFull(title) });
    this.truth = new Truth();
    this.plot = el("div", { class: "rs-plot", tabindex: "0", role: "application" });
    this.waiting = el("p", { class: "rs-layer rs-waiting" });
    this.plot.append(this.waiting);
    this.values = new Map();
    this.differences = new Map();
    this.floor = el("p", { class: "rs-note rs-whole rs-floor" });
    this.against = el("p", { class: "rs-note rs-whole rs-cardagainst" });
    this.whole = el("p", { class: "rs-note rs-whole" });
    this.clipped = el("p", { class: "rs-note rs-whole rs-clipped" });
    this.diagnosis = el("ul", { class: "rs-note rs-whole rs-diagnosis", "aria-label": "What the newest numbers say" });
    const figures = el("div", { class: "rs-figures" }, ...about.numbers.map((number) => this.number(number)), this.floor, this.against, this.whole, this.clipped);
    this.node = el(
      "article",
      { class: "rs-card" },
      el("header", { class: "rs-flow" }, swatch(arm), this.title, this.truth.node),
      el("div", { class: "rs-cardbody" }, el("div", { class: "rs-cardgrid" }, this.plot, figures)),
      el("footer", {}, this.diagnosis),
    );
  }

  number({ key, short, sentence }) {
    const value = el("span", { class: "rs-value", text: "–" });
    const less = el("span", { class: "rs-less" });
    this.values.set(key, value);
    this.differences.set(key, less);
    return el("div", { class: "rs-figure" }, value, explained(short, sentence), less);
  }

  /** `points`: how many there are; `what`: image or class. */
  describe(points, what = "image") {
    const help = `Arrow keys go from ${what} to ${what}, Enter selects, plus and minus zoom, 0 shows everything.`;
    this.plot.setAttribute("aria-label", `Map of ${this.title.textContent}, ${points} ${what === "class" ? "classes" : "images"}. ${help}`);
  }

  wait(text) {
    say(this.waiting, text);
  }

  /** The numbers of the images on the map, and once a run is done those of all test images. `point(key)`: [step, value] or null.
   * `start(key)`: the value before the first step. `baseline`: see baseline.js; `step`: the one that is shown. */
  show(point, start, baseline, step) {
    const { about } = this;
    const value = (key) => point(key)?.[1];
    for (const [key, node] of this.values) say(node, figure(value(key)));
    const floors = about.numbers.filter(({ key }) => about.floor.includes(key) && Number.isFinite(start(key)));
    say(this.floor, floors.length ? `${about.begins}: ${floors.map(({ key, short }) => `${short} ${figure(start(key))}`).join(" · ")}` : "");
    this.compare(point, baseline, step);
    const known = about.whole.filter(({ key }) => Number.isFinite(value(key)));
    const less = (key) => baseline.less(key, this.arm, point(key), true);
    const whole = known.map(({ key, short }) => `${short} ${figure(value(key))}${less(key) === null ? "" : ` (${signed(less(key))})`}`).join(" · ");
    const part = filled(about.part, (field) => this.countAt(field, point));
    say(this.whole, whole ? `${filled(about.whole_test, (field) => value(about.test + field))}: ${whole}` : part);
    const clipped = value(about.clipped);
    say(this.clipped, clipped > 0 ? `gradient clipped in ${percent(clipped)} of steps` : "");
  }

  /** Write under each number how it differs from the baseline's, and which of its arms that is. */
  compare(point, baseline, step) {
    for (const { key, better } of this.about.numbers) {
      const less = baseline.less(key, this.arm, point(key));
      const node = less === null ? null : difference(less, better);
      const before = this.differences.get(key);
      if (before.textContent !== (node?.textContent ?? "")) before.replaceChildren(...(node ? [node] : []));
    }
    if (!baseline.comparable) return say(this.against, "");
    const { title, same } = baseline.armFor(this.arm);
    const ended = baseline.ended(step);
    return say(this.against, `less the baseline${same ? "" : `’s ${brief(title)}`}${ended === null ? "" : ` at step ${grouped(ended)}, its last`}`);
  }

  /** Sentences on what the newest numbers say of the training. */
  diagnose(sentences) {
    if ([...this.diagnosis.children].map((item) => item.textContent).join("\n") === sentences.join("\n")) return;
    this.diagnosis.replaceChildren(...sentences.map((text) => el("li", { text })));
  }

  /** A count, or with "@step" after a key the step at which it was measured, where the other numbers are newer. */
  countAt(field, point) {
    const [key, step] = field.split("@");
    if (!step) return point(key)?.[1];
    const newest = Math.max(...[...this.values.keys()].map((other) => point(other)?.[0] ?? -1));
    const measured = point(key)?.[0];
    return measured < newest ? measured : null;
  }
}
