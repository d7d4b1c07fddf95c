// How the severity of the results moved while each arm trained: shares over the steps, one area above the other.

import { el, grouped, say } from "../common/dom.js";
import { segments } from "../common/fields.js";
import { heading } from "./places.js";
import { severities, severityKey, spokenShares } from "../common/severity_colours.js";

const WIDTH = 300;
const HEIGHT = 90;

/** `on`: {seek(step)} when a panel is clicked. */
export class MistakesTraining {
  constructor(on) {
    this.on = on;
    this.which = segments("Which results", [["top1", "First result"], ["topk", "First k"]], "top1", () => this.draw());
    this.key = el("div", {});
    this.panels = el("div", { class: "rs-columns rs-areas" });
    this.files = el("p", { class: "rs-flow rs-note" });
    this.none = el("p", { class: "rs-note", text: "There is one step only: nothing moved yet. Maps of several steps are drawn while a run is open in Live." });
    const head = el("header", { class: "rs-flow rs-sectionline" }, el("h3", { text: "How it moved during training" }), this.which);
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Results over training" }, head, this.none, this.key, this.panels, this.files);
  }

  /** `answers`: by run, series as the server sends them. */
  show(places, answers, step) {
    Object.assign(this, { places, answers, step });
    this.draw();
  }

  cursor(step) {
    this.step = step;
    for (const panel of this.drawn ?? []) panel.at(step);
  }

  draw() {
    const arms = (this.places ?? []).flatMap((place) => {
      const answer = this.answers.get(place.run);
      return answer && answer.steps.length > 1 && answer.arms[place.arm] ? [{ place, words: answer.words, ...known(answer.steps, answer.arms[place.arm][this.which.value]) }] : [];
    });
    this.none.hidden = arms.length > 0;
    this.which.hidden = !arms.length;
    this.key.replaceChildren(...(arms.length ? [severityKey(arms[0].words)] : []));
    const last = Math.max(1, ...arms.map(({ all }) => all.at(-1)));
    this.drawn = arms.map((arm) => new AreaPanel(arm, last, this.on));
    this.panels.replaceChildren(...this.drawn.map((panel) => panel.node));
    this.cursor(this.step);
  }
}

/** The steps at which an arm has results, and `all`; it has none once its training diverged. */
function known(all, shares) {
  const there = shares.map((one) => one !== null);
  return { all, steps: all.filter((_, at) => there[at]), shares: shares.filter((one) => one !== null) };
}

class AreaPanel {
  constructor({ place, words, all, steps, shares }, last, on) {
    Object.assign(this, { words, all, steps, shares, last });
    this.rule = el("line", { class: "rs-cursor", y1: 0, y2: HEIGHT });
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, ...this.areas(), this.rule);
    this.said = el("p", { class: "rs-note" });
    const name = el("figcaption", { class: "rs-flow" }, ...heading(place));
    const box = el("div", { class: "rs-areabox", onclick: (event) => on.seek(this.nearest(event)) }, this.svg);
    this.label = `${place.title}, results by severity over the steps`;
    this.node = el("figure", { class: "rs-areapanel" }, name, box, this.said);
  }

  areas() {
    const { steps, words } = this;
    const x = (step) => ((step / this.last) * WIDTH).toFixed(2);
    const y = (value) => ((1 - value) * HEIGHT).toFixed(2);
    const low = steps.map(() => 0);
    return severities(words).map(({ shared, colour, word }) => {
      const below = steps.map((step, at) => `${x(step)} ${y(low[at])}`);
      steps.forEach((_, at) => { low[at] = Math.min(1, low[at] + this.shares[at][shared]); });
      const above = steps.map((step, at) => `${x(step)} ${y(low[at])}`).reverse();
      return el("polygon", { points: [...below, ...above].join(" "), style: `fill: ${colour}`, "data-word": word });
    });
  }

  nearest(event) {
    const area = this.svg.getBoundingClientRect();
    const step = ((event.clientX - area.left) / area.width) * this.last;
    return this.all.reduce((best, one) => (Math.abs(one - step) < Math.abs(best - step) ? one : best));
  }

  at(step) {
    const { all, steps, words } = this;
    const shown = newest(all, step);
    const x = ((all[shown] / this.last) * WIDTH).toFixed(2);
    this.rule.setAttribute("x1", x);
    this.rule.setAttribute("x2", x);
    const place = steps.indexOf(all[shown]);
    const text = `Step ${grouped(all[shown])}: ${place < 0 ? "no results, its training diverged" : spokenShares(words, this.shares[place])}`;
    say(this.said, text);
    this.svg.setAttribute("aria-label", `${this.label}. ${text}`);
  }
}

/** Place of the last step that is not after `step`; null: of the last one. */
function newest(steps, step) {
  const before = step === null || step === undefined ? steps.length : steps.filter((one) => one <= step).length;
  return Math.max(0, before - 1);
}
