// One number over the parameter that the arms vary: at the shown step, and at the end. The server says where arms lie.

import { Chart, edge, named, titled } from "../common/chart.js";
import { el, figure, grouped, say } from "../common/dom.js";
import { hue } from "../common/palette.js";
import { dot } from "../vendor/plot.js";

const SCALES = { log: "logarithmic axis", even: "in order, not to scale", linear: "" };

/** Nothing where the arms differ in more than one parameter. */
export class Ablation {
  constructor() {
    this.node = el("section", { class: "rs-ablation", hidden: true });
    this.empty();
  }

  empty() {
    this.plots = [];
    this.node.hidden = true;
    this.node.replaceChildren();
  }

  load(run) {
    this.empty();
    const { ablation, measures } = run;
    if (!ablation) return;
    this.run = run;
    this.plots = measures.headline.map((number) => new Plot(run, number));
    this.key = el("p", { class: "rs-note" });
    const title = `Over ${ablation.title.toLowerCase()}`;
    this.node.setAttribute("aria-label", title);
    this.node.replaceChildren(el("h3", { text: title, title: ablation.help }), el("div", { class: "rs-columns rs-panels" }, ...this.plots.map((plot) => plot.node)), this.key);
  }

  update(series, step) {
    if (!this.plots.length) return;
    const known = this.plots.map((plot) => plot.draw(series, step));
    this.node.hidden = !known.some(([shown, final]) => shown || final);
    const final = known.some(([, last]) => last);
    say(this.key, `● step ${grouped(step)}, images on the maps${final ? " · ○ at the end, whole test set" : ""}`);
  }
}

class Plot {
  constructor(run, number) {
    Object.assign(this, { run, number, final: run.measures.test + number.key });
    this.chart = new Chart();
    this.node = el("figure", { class: "rs-curve rs-chart" }, el("figcaption", { class: "rs-flow" }, el("span", { text: number.title })), el("div", { class: "rs-plotbox" }, this.chart.node));
  }

  /** Whether there is a number at the step, and at the end. */
  draw(series, step) {
    const { ablation, arms } = this.run;
    const shown = arms.map((_, arm) => series.at(this.number.key, arm, step));
    const final = arms.map((_, arm) => series.at(this.final, arm, Infinity));
    const all = [this.number.key, this.final].flatMap((key) => series.arms(key).flatMap((line) => line.map(([, value]) => value)));
    const rows = arms.map(({ title }, arm) => ({ title, place: ablation.places[arm], colour: hue(arm), shown: shown[arm], final: final[arm] }));
    this.chart.show(() => this.drawing(rows, limits(all)));
    const words = arms.map((_, arm) => `${ablation.values[arm]}: ${figure(shown[arm])}${final[arm] === null ? "" : `, at the end ${figure(final[arm])}`}`);
    this.chart.say(`${this.number.title} over ${ablation.title}. ${words.join("; ")}`);
    const has = (values) => values.some((value) => value !== null);
    return [has(shown), has(final)];
  }

  drawing(rows, [low, high]) {
    const { title, scale, places, values } = this.run.ablation;
    const dots = (key, r, look) => dot(rows, { x: "place", y: key, r, title: (row) => `${row.title}: ${figure(row[key])}`, className: `rs-${key}`, ...look });
    const across = titled([...new Set(places)], [title, SCALES[scale]].filter(Boolean).join(", "), { tickFormat: (place) => values[places.indexOf(place)] });
    const marks = [named([low, high]), edge(), across, dots("final", 8, { stroke: "colour", strokeWidth: 2 }), dots("shown", 6, { fill: "colour" })];
    return { height: 160, marginBottom: 40, x: { domain: [0, 1], inset: 20 }, y: { domain: [low, high] }, marks };
  }
}

/** Fixed over the steps of a run, so that dots and not the axis move. */
function limits(values) {
  if (!values.length) return [0, 1];
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  return high > low ? [Math.floor(low * 20) / 20, Math.ceil(high * 20) / 20] : [low - 0.5, high + 0.5];
}
