// One number at each level of the label tree: bars at the step that is shown, and a curve for each level.

import { Chart, edge, named } from "../../common/chart.js";
import { el, grouped, say, swatch } from "../../common/dom.js";
import { brief } from "../../common/names.js";
import { hue } from "../../common/palette.js";
import { rect } from "../../vendor/plot.js";
import { Panel, short } from "../../common/panel.js";

const HEIGHT = 102;
const GAP = 0.25; // of the room of a level, beside its bars

class LevelsView {
  wide = true;

  constructor(run, about, on) {
    Object.assign(this, { run, about, on, panels: new Map() });
    this.chart = new Chart();
    this.axis = el("p", { class: "rs-note rs-levelaxis" });
    this.said = el("span", {});
    this.readings = el("div", { class: "rs-note rs-levelreadings" });
    this.node = el("div", { class: "rs-plotbody" }, el("figure", { class: "rs-curve" }, el("figcaption", { class: "rs-flow" }, this.said), el("div", {}, el("div", { class: "rs-plotbox" }, this.chart.node), this.axis, this.readings)));
  }

  /** Finest first. */
  get keys() {
    const { series, about } = this;
    const level = (key) => Number.parseInt(key.match(/\d+$/)?.[0] ?? "0", 10);
    return series.keys.filter((key) => series.named[key].name === about.measure && series.named[key].curve).sort((a, b) => level(a) - level(b));
  }

  draw(series, step) {
    Object.assign(this, { series, step });
    const { keys } = this;
    if (!keys.length) return false;
    const last = Math.max(series.lastStep(), 1);
    for (const key of keys) if (!this.panels.has(key)) this.panel(key);
    for (const panel of this.panels.values()) panel.draw(series, last);
    this.cursor(this.hovered ?? step);
    const values = keys.map((key) => this.run.arms.map((_, arm) => series.at(key, arm, step)));
    this.chart.show(() => ({ height: HEIGHT, x: { domain: [0, keys.length] }, y: { domain: [0, 1] }, marks: [named([0, 1]), edge(), this.bars(values)] }));
    this.axis.replaceChildren(...keys.map((key) => el("span", { class: "rs-clamp", text: brief(this.title(key), 60) })));
    say(this.said, `At step ${grouped(step)}`);
    this.readings.replaceChildren(...this.run.arms.map((_, arm) => el("p", { class: "rs-levelrow" }, swatch(arm), ...values.map((level) => el("span", { text: short(level[arm]) })))));
    const words = this.run.arms.map(({ title }, arm) => `${title}: ${keys.map((key, place) => `${this.title(key)} ${short(values[place][arm])}`).join(", ")}`);
    this.chart.say(`${this.about.title} at step ${Math.round(step)}. ${words.join("; ")}`);
    return true;
  }

  panel(key) {
    const panel = new Panel(this.run, { key, ...this.series.named[key] }, { hover: (step) => this.cursor((this.hovered = step) ?? this.step), seek: (step) => this.on.seek(step) });
    this.panels.set(key, panel);
    this.node.append(panel.node);
  }

  cursor(step) {
    for (const panel of this.panels.values()) panel.cursor(this.series, step);
  }

  bars(levels) {
    const width = (1 - GAP) / this.run.arms.length;
    const bars = levels.flatMap((values, place) => values.map((value, arm) => ({ value, from: place + GAP / 2 + arm * width, colour: hue(arm) })));
    return rect(bars.filter(({ value }) => value !== null), { x1: "from", x2: ({ from }) => from + width * 0.92, y1: 0, y2: "value", fill: "colour", className: "rs-profilebar" });
  }

  /** The name of the level alone: the number's title ends with it. */
  title(key) {
    return this.series.named[key].title.split(", ").slice(1).join(", ") || this.series.named[key].title;
  }

  rows() {
    const { keys, series, run } = this;
    const steps = (arm) => [...new Set(keys.flatMap((key) => (series.arms(key)[arm] ?? []).map(([step]) => step)))].sort((a, b) => a - b);
    const rows = run.arms.flatMap(({ title }, arm) => steps(arm).map((step) => [arm, title, step, ...keys.map((key) => series.at(key, arm, step) ?? "")]));
    return [["arm", "loss", "step", ...keys.map((key) => series.named[key].title)], ...rows];
  }
}

export const LEVELS = { name: "levels", make: (run, about, on) => new LevelsView(run, about, on) };
