// One number over the steps as a small picture: a line per arm, and a cursor at the step that is read.

import { Chart, curve, edge, named, rounded } from "./chart.js";
import { el, grouped, say } from "./dom.js";
import { brief } from "./names.js";
import { ink } from "./palette.js";
import { ruleX, text } from "../vendor/plot.js";

const HEIGHT = 102;
const SHARE = "share"; // a number from 0 to 1

export class Panel {
  /** `number`: {key, title, unit, dashed} as the server sends them, and a height, if it is not the usual one. */
  constructor(run, { key, title, unit, dashed, height = HEIGHT }, on) {
    this.name = brief(title);
    Object.assign(this, { run, key, unit, dashed, height });
    this.chart = new Chart();
    this.chart.say(this.name);
    this.readings = run.arms.map((_, arm) => el("span", { class: ink(arm) }));
    const box = el("div", { class: "rs-plotbox" }, this.chart.node);
    this.node = el("figure", { class: "rs-curve" }, el("figcaption", { class: "rs-flow" }, el("span", { text: this.name }), ...this.readings), box);
    box.addEventListener("pointermove", (event) => on.hover(this.chart.under(event)));
    box.addEventListener("pointerleave", () => on.hover(null));
    box.addEventListener("click", (event) => on.seek(this.chart.under(event)));
  }

  /** `stages`: [step, title] of each; all but the first get a dotted line where they begin. `beside`: lines of a
   * baseline, [line, arm or null]; `levels`: {title, value} of what stays the same, left out below all lines. */
  draw(series, last, stages = [], beside = [], levels = []) {
    const keys = [[this.key, ""], [this.dashed, " rs-dashed"]].flatMap(([key, form]) => (key ? series.arms(key).map((line, arm) => [line, ink(arm) + form]) : []));
    const lines = [...beside.map(([line, arm]) => [line, `${arm === null ? "rs-grey" : ink(arm)} rs-dotted`]), ...keys].filter(([line]) => line.length);
    const least = Math.min(...lines.flatMap(([line]) => line.map(([, value]) => value)));
    const level = levels.filter(({ value }) => value >= least);
    const now = JSON.stringify([last, stages, level, lines.map(([line, kind]) => [line.length, line.at(-1), kind])]);
    if (now === this.drawn) return; // only the cursor moves
    this.drawn = now;
    const limits = domain([...lines.flatMap(([line]) => line.map(([, value]) => value)), ...level.map(({ value }) => value)], this.unit);
    const begins = ruleX(stages.map(([step]) => step).filter(Boolean), { className: "rs-cursor rs-begin" });
    const rules = level.flatMap(({ title, value }) => [curve([[0, value], [last, value]], "rs-grey rs-dashed"), text([[last, value]], { text: [title], className: "rs-levelname", textAnchor: "end", dy: -5 })]);
    const marks = [begins, ...rules, ...lines.map(([line, kind]) => curve(sparse(line), kind))];
    const axis = lines.length ? [named(limits, tick)] : [];
    this.chart.show(() => ({ height: this.height, x: { domain: [0, last] }, y: { domain: limits }, marks: [edge(), ...axis, ...marks] }));
  }

  cursor(series, step) {
    if (step === undefined || step === null) return;
    this.chart.cursor(series.arms(this.key).length ? step : undefined);
    const words = this.readings.map((node, arm) => {
      const value = short(series.at(this.key, arm, step));
      say(node, value);
      return `${this.run.arms[arm].title} ${value}`;
    });
    this.chart.say(`${this.name} at step ${Math.round(step)}: ${words.join(", ")}`);
  }
}

/** Round limits that hold the values; shares stay within 0 and 1, and nothing crosses 0 that has one sign. */
export function domain(values, unit) {
  if (!values.length) return [0, 1];
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (unit === SHARE) {
    low = Math.min(0.9, Math.max(0, Math.floor(low * 10) / 10));
    return [low, Math.max(Math.min(1, Math.ceil(high * 10) / 10), low + 0.1)];
  }
  if (low > 0 && low < high * 0.5) low = 0;
  if (high > low) return [low, high];
  return low ? [Math.min(0, 2 * low), Math.max(0, 2 * high)] : [0, 1];
}

/** At most 300 points of a line; a bin keeps its mean, so that the eye sees the trend and not the ink. */
function sparse(line) {
  const size = Math.ceil(line.length / 300);
  if (size <= 1) return line;
  const out = [];
  for (let i = 0; i < line.length; i += size) {
    const bin = line.slice(i, i + size);
    out.push([bin.at(-1)[0], bin.reduce((sum, [, value]) => sum + value, 0) / bin.length]);
  }
  return out;
}

export function short(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 100) return grouped(value);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3);
}

const tick = (value) => (Math.abs(value) >= 100 ? grouped(value) : rounded(value));
