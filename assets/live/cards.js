// One card per loss: title, how faithful the map is, the map itself, four numbers.

import { el, figure, say } from "../common/dom.js";
import { brief, inFull } from "../common/names.js";
import { ARM_NAMES } from "../common/palette.js";

const CLIPPED = "clipped_share";

const tips = { count: 0 };

/** Never 0 % for something, never 100 % for less than all. */
const percent = (share) => `${share === 1 ? 100 : Math.min(99, Math.max(1, Math.round(100 * share)))} %`;

/** A word that explains itself on hover and on focus. */
export function explained(text, sentence) {
  tips.count += 1;
  const id = `rs-tip-${tips.count}`;
  const tip = el("span", { class: "rs-tip", role: "tooltip", id, text: sentence });
  const word = el("button", { type: "button", class: "rs-word", "aria-describedby": id, text });
  word.addEventListener("keydown", (event) => event.key === "Escape" && word.blur());
  return el("span", { class: "rs-explained" }, word, tip);
}

export class Card {
  /** `about`: the measures of the run's kind, see measures.js. */
  constructor(arm, title, about) {
    this.arm = arm;
    this.about = about;
    this.colour = ARM_NAMES[arm];
    this.title = el("h3", { text: brief(title, 120), title: inFull(title) });
    this.fidelity = el("p", { class: "rs-fidelity" });
    this.plot = el("div", { class: "rs-plot", tabindex: "0", role: "application" });
    this.waiting = el("p", { class: "rs-waiting" });
    this.plot.append(this.waiting);
    this.values = new Map();
    this.whole = el("p", { class: "rs-whole" });
    this.clipped = el("p", { class: "rs-whole rs-clipped" });
    const square = el("span", { class: `rs-swatch rs-${this.colour}`, "aria-hidden": "true" });
    this.node = el(
      "article",
      { class: "rs-card" },
      el("header", {}, square, this.title, this.fidelity),
      this.plot,
      el("footer", {}, ...about.numbers.map((number) => this.number(...number)), this.whole, this.clipped),
    );
  }

  number(key, name, sentence) {
    const value = el("span", { class: "rs-value", text: "–" });
    this.values.set(key, value);
    return el("div", { class: "rs-figure" }, value, explained(name, sentence));
  }

  describe(points) {
    const help = "Arrow keys go from image to image, Enter selects, plus and minus zoom, 0 shows everything.";
    this.plot.setAttribute("aria-label", `Map of ${this.title.textContent}, ${points} images. ${help}`);
  }

  wait(text) {
    say(this.waiting, text);
  }

  /** How far the picture may be trusted: `about` is the frame's {quality, drift, method} of this arm. */
  trust(about, first) {
    if (!about) return say(this.fidelity, "");
    const parts = [];
    if (Number.isFinite(about.quality)) parts.push([`map keeps ${about.quality.toFixed(2)} of 15`, " neighbours"]);
    if (about.method === "pca") parts.push(["PCA", " while UMAP warms up", "rs-wider"]);
    else if (Number.isFinite(about.drift) && !first) parts.push([`moved ${about.drift.toFixed(1)} σ`, ""]);
    const whole = parts.map(([text, more]) => text + more).join(" · ");
    if (this.fidelity.title === whole) return undefined;
    this.fidelity.title = whole;
    const nodes = parts.flatMap(([text, more, room = "rs-wide"], i) => [i ? " · " : "", text, el("span", { class: room, text: more })]);
    return this.fidelity.replaceChildren(...nodes);
  }

  /** The numbers of the images on the map, and once a run is done those of all test images. */
  show(values) {
    for (const [key, node] of this.values) say(node, figure(values[key]));
    const known = this.about.whole.filter(([key]) => Number.isFinite(values[key]));
    const whole = known.map(([key, name]) => `${name} ${figure(values[key])}`).join(" · ");
    say(this.whole, whole ? `${this.about.wholeTitle(values)}: ${whole}` : this.about.partTitle(values));
    say(this.clipped, values[CLIPPED] > 0 ? `gradient clipped in ${percent(values[CLIPPED])} of steps` : "");
  }

  /** Keys of the scalars that `show` wants. */
  get keys() {
    return [...this.values.keys(), ...this.about.whole.map(([key]) => key), ...this.about.counts, CLIPPED];
  }
}
