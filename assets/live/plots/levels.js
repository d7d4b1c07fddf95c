// One number at each level of the label tree: bars at the step that is shown, and a curve for each level.

import { el, grouped, say, swatch } from "../../common/dom.js";
import { brief } from "../../common/names.js";
import { ink } from "../../common/palette.js";
import { Panel, short } from "../panel.js";

const WIDTH = 300;
const HEIGHT = 110;
const GAP = 0.25; // of the room of a level, beside its bars

class LevelsView {
  wide = true;

  constructor(run, about, on) {
    Object.assign(this, { run, about, on, panels: new Map() });
    this.bars = el("g", {});
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, this.bars);
    this.axis = el("p", { class: "rs-note rs-levelaxis" });
    this.said = el("span", {});
    const box = el("div", { class: "rs-plotbox" }, this.svg, el("span", { class: "rs-note rs-tick rs-high", text: "1" }), el("span", { class: "rs-note rs-tick rs-low", text: "0" }));
    this.readings = el("div", { class: "rs-note rs-levelreadings" });
    this.node = el("div", { class: "rs-plotbody" }, el("figure", { class: "rs-curve" }, el("figcaption", { class: "rs-flow" }, this.said), el("div", {}, box, this.axis, this.readings)));
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
    this.bars.replaceChildren(...values.flatMap((level, place) => this.group(level, place, keys.length)));
    this.axis.replaceChildren(...keys.map((key) => el("span", { class: "rs-clamp", text: brief(this.title(key), 60) })));
    say(this.said, `At step ${grouped(step)}`);
    this.readings.replaceChildren(...this.run.arms.map((_, arm) => el("p", { class: "rs-levelrow" }, swatch(arm), ...values.map((level) => el("span", { text: short(level[arm]) })))));
    const words = this.run.arms.map(({ title }, arm) => `${title}: ${keys.map((key, place) => `${this.title(key)} ${short(values[place][arm])}`).join(", ")}`);
    this.svg.setAttribute("aria-label", `${this.about.title} at step ${Math.round(step)}. ${words.join("; ")}`);
    return true;
  }

  panel(key) {
    const panel = new Panel(this.run, { key, ...this.series.named[key] }, { hover: (step) => this.cursor((this.hovered = step) ?? this.step), seek: (step) => this.on.seek(step) });
    this.panels.set(key, panel);
    this.node.append(panel.node);
  }

  cursor(step) {
    const last = Math.max(this.series.lastStep(), 1);
    for (const panel of this.panels.values()) panel.cursor(this.series, step, last);
  }

  group(values, place, count) {
    const room = WIDTH / count;
    const width = (room * (1 - GAP)) / values.length;
    return values.flatMap((value, arm) => {
      if (value === null) return [];
      const height = Math.max(0.5, Math.min(1, Math.max(0, value)) * HEIGHT);
      return [el("rect", { x: (room * (place + GAP / 2) + arm * width).toFixed(2), y: (HEIGHT - height).toFixed(2), width: (width * 0.92).toFixed(2), height: height.toFixed(2), class: `rs-profilebar ${ink(arm)}` })];
    });
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
