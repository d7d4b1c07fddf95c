// How the severity of the results moved while each arm trained: shares over the steps, one area above the other.

import { Chart } from "../common/chart.js";
import { el, grouped, say } from "../common/dom.js";
import { segments } from "../common/fields.js";
import { heading } from "./places.js";
import { severities, severityKey, spokenShares } from "../common/severity_colours.js";
import { areaY } from "../vendor/plot.js";

/** `on`: {seek(step)} when a panel is clicked. */
export class MistakesTraining {
  constructor(on) {
    this.on = on;
    this.which = segments("Which results", [["top1", "First result"], ["topk", "First k"]], "top1", () => this.draw());
    this.key = el("div", {});
    this.panels = el("div", { class: "rs-columns rs-areas" });
    this.files = el("p", { class: "rs-flow rs-note" });
    this.none = el("p", { class: "rs-note", text: "There is one step only: nothing moved yet. Maps of several steps are drawn while a run is open in Live." });
    const head = el("header", { class: "rs-flow rs-sectionline" }, el("h3", { text: "How it changed during training" }), this.which);
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
  const there = shares.map((share) => share !== null);
  return { all, steps: all.filter((_, at) => there[at]), shares: shares.filter((share) => share !== null) };
}

class AreaPanel {
  constructor({ place, words, all, steps, shares }, last, on) {
    Object.assign(this, { words, all, steps, shares });
    this.chart = new Chart("rs-areabox");
    const bands = severities(words).flatMap(({ shared, colour }) => steps.map((step, at) => ({ step, share: shares[at][shared], colour })));
    const area = areaY(bands, { x: "step", y: "share", z: "colour", fill: "colour" });
    this.chart.show(() => ({ height: 90, marginLeft: 0, marginRight: 0, marginTop: 0, marginBottom: 0, x: { domain: [0, last] }, y: { domain: [0, 1] }, marks: [area] }));
    this.chart.node.addEventListener("click", (event) => on.seek(this.nearest(event)));
    this.said = el("p", { class: "rs-note" });
    const name = el("figcaption", { class: "rs-flow" }, ...heading(place));
    this.label = `${place.title}, results by severity over the steps`;
    this.node = el("figure", { class: "rs-areapanel" }, name, this.chart.node, this.said);
  }

  nearest(event) {
    const step = this.chart.under(event);
    return this.all.reduce((best, known) => (Math.abs(known - step) < Math.abs(best - step) ? known : best));
  }

  at(step) {
    const { all, steps, words } = this;
    const shown = newest(all, step);
    this.chart.cursor(all[shown]);
    const place = steps.indexOf(all[shown]);
    const text = `Step ${grouped(all[shown])}: ${place < 0 ? "no results, its training diverged" : spokenShares(words, this.shares[place])}`;
    say(this.said, text);
    this.chart.say(`${this.label}. ${text}`);
  }
}

/** Place of the last step that is not after `step`; null: of the last one. */
function newest(steps, step) {
  const before = step === null || step === undefined ? steps.length : steps.filter((known) => known <= step).length;
  return Math.max(0, before - 1);
}
