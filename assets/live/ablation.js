// One number over the parameter that the arms vary: at the shown step, and at the end. The server says where arms lie.

import { el, figure, grouped, say } from "../common/dom.js";
import { ink } from "../common/palette.js";

const SCALES = { log: "logarithmic axis", even: "in order, not to scale", linear: "" };
const ROOM = 0.08; // of the width beside the outer arms

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
    const { ablation, measures } = run;
    Object.assign(this, { run, number, final: measures.test + number.key });
    this.box = el("div", { class: "rs-dots" });
    this.high = el("span", { class: "rs-note rs-tick rs-high" });
    this.low = el("span", { class: "rs-note rs-tick rs-low" });
    const seen = new Set();
    const ticks = ablation.values.map((value, arm) => {
      if (seen.has(value)) return null;
      seen.add(value);
      const tick = el("span", { text: value });
      tick.style.left = x(ablation.places[arm]);
      return tick;
    });
    const axis = el("div", { class: "rs-note rs-ticks", "aria-hidden": "true" }, ...ticks);
    const about = [ablation.title, SCALES[ablation.scale]].filter(Boolean).join(", ");
    const plot = el("div", { class: "rs-plotbox" }, this.box, this.high, this.low, axis, el("p", { class: "rs-note rs-axistitle", text: about }));
    this.node = el("figure", { class: "rs-curve rs-chart", role: "img" }, el("figcaption", { class: "rs-flow" }, el("span", { text: number.title })), plot);
  }

  /** Whether there is a number at the step, and at the end. */
  draw(series, step) {
    const { ablation, arms } = this.run;
    const shown = arms.map((_, arm) => series.at(this.number.key, arm, step));
    const final = arms.map((_, arm) => series.at(this.final, arm, Infinity));
    const all = [...arms.keys()].flatMap((arm) => [this.number.key, this.final].flatMap((key) => (series.arms(key)[arm] ?? []).map(([, value]) => value)));
    const [low, high] = limits(all);
    const dots = (values, kind) =>
      values.flatMap((value, arm) => {
        if (value === null) return [];
        const dot = el("span", { class: `rs-dotmark rs-${kind} ${ink(arm)}`, title: `${arms[arm].title}: ${figure(value)}` });
        dot.style.left = x(ablation.places[arm]);
        dot.style.bottom = `${(100 * (value - low)) / (high - low)}%`;
        return [dot];
      });
    this.box.replaceChildren(...dots(final, "ring"), ...dots(shown, "disc"));
    say(this.high, all.length ? String(Number(high.toFixed(2))) : "");
    say(this.low, all.length ? String(Number(low.toFixed(2))) : "");
    const words = arms.map((_, arm) => `${ablation.values[arm]}: ${figure(shown[arm])}${final[arm] === null ? "" : `, at the end ${figure(final[arm])}`}`);
    this.node.setAttribute("aria-label", `${this.number.title} over ${ablation.title}. ${words.join("; ")}`);
    const has = (values) => values.some((value) => value !== null);
    return [has(shown), has(final)];
  }
}

const x = (place) => `${100 * (ROOM + place * (1 - 2 * ROOM))}%`;

/** Fixed over the steps of a run, so that dots and not the axis move. */
function limits(values) {
  if (!values.length) return [0, 1];
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  return high > low ? [Math.floor(low * 20) / 20, Math.ceil(high * 20) / 20] : [low - 0.5, high + 0.5];
}
