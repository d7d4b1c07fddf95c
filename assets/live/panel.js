// One number over the steps as a small picture: a line per arm, and a cursor at the step that is read.

import { el, grouped, say } from "../common/dom.js";
import { brief } from "../common/names.js";
import { ink } from "../common/palette.js";

const WIDTH = 300;
const HEIGHT = 110;
const SHARE = "share"; // a number from 0 to 1

export class Panel {
  /** `number`: {key, title, unit, dashed} as the server sends them. */
  constructor(run, { key, title, unit, dashed }, on) {
    const name = brief(title);
    Object.assign(this, { run, key, unit, dashed });
    this.lines = el("g", {});
    this.stages = el("g", {});
    this.rule = el("line", { class: "rs-cursor", y1: 0, y2: HEIGHT });
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": name }, this.stages, this.lines, this.rule);
    this.readings = run.arms.map((_, arm) => el("span", { class: ink(arm) }));
    this.high = el("span", { class: "rs-note rs-tick rs-high" });
    this.low = el("span", { class: "rs-note rs-tick rs-low" });
    const box = el("div", { class: "rs-plotbox" }, this.svg, this.high, this.low);
    this.node = el("figure", { class: "rs-curve" }, el("figcaption", { class: "rs-flow" }, el("span", { text: name }), ...this.readings), box);
    const step = (event) => {
      const area = this.svg.getBoundingClientRect();
      return ((event.clientX - area.left) / area.width) * this.last;
    };
    box.addEventListener("pointermove", (event) => on.hover(step(event)));
    box.addEventListener("pointerleave", () => on.hover(null));
    box.addEventListener("click", (event) => on.seek(step(event)));
  }

  /** `stages`: [step, title] of each; all but the first get a dotted line where they begin. `beside`: lines of a
   * baseline, [line, arm or null]. */
  draw(series, last, stages = [], beside = []) {
    this.last = last;
    const begin = ([step]) => el("line", { class: "rs-cursor rs-begin", x1: this.x(step), x2: this.x(step), y1: 0, y2: HEIGHT });
    this.stages.replaceChildren(...stages.filter(([step]) => step).map(begin));
    const sets = [[this.key, false], [this.dashed, true]].filter(([key]) => key);
    const lines = [...beside.map(([line]) => line), ...sets.flatMap(([key]) => series.arms(key))];
    const values = lines.flatMap((line) => line.map(([, value]) => value));
    this.domain = domain(values, this.unit);
    say(this.high, values.length ? tick(this.domain[1]) : "");
    say(this.low, values.length ? tick(this.domain[0]) : "");
    const paths = sets.flatMap(([key, dash]) => series.arms(key).map((line, arm) => this.path(line, arm, dash ? " rs-dashed" : "")));
    this.lines.replaceChildren(...beside.map(([line, arm]) => this.path(line, arm, " rs-dotted")), ...paths);
  }

  /** `arm`: whose colour it has; null: grey. */
  path(line, arm, form) {
    const d = sparse(line).map(([step, value], i) => `${i ? "L" : "M"}${this.x(step).toFixed(2)} ${this.y(value).toFixed(2)}`);
    const alone = d.length === 1; // one value is a dot: a round line without length
    return el("path", { d: d.join("") + (alone ? "h0" : ""), class: `rs-line ${arm === null ? "rs-grey" : ink(arm)}${form}${alone ? " rs-alone" : ""}` });
  }

  x(step) {
    return (step / this.last) * WIDTH;
  }

  y(value) {
    const [low, high] = this.domain;
    return HEIGHT - 3 - ((value - low) / (high - low)) * (HEIGHT - 6);
  }

  cursor(series, step, last) {
    if (step === undefined || step === null) return;
    this.last = last;
    this.rule.style.visibility = series.arms(this.key).length ? "visible" : "hidden";
    this.rule.setAttribute("x1", this.x(step));
    this.rule.setAttribute("x2", this.x(step));
    const words = this.readings.map((node, arm) => {
      const value = short(series.at(this.key, arm, step));
      say(node, value);
      return `${this.run.arms[arm].title} ${value}`;
    });
    this.svg.setAttribute("aria-label", `${this.node.querySelector("figcaption span").textContent} at step ${Math.round(step)}: ${words.join(", ")}`);
  }
}

/** Round limits that hold the values; shares stay within 0 and 1. */
export function domain(values, unit) {
  if (!values.length) return [0, 1];
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (unit === SHARE) {
    low = Math.min(0.9, Math.max(0, Math.floor(low * 10) / 10));
    return [low, Math.max(Math.min(1, Math.ceil(high * 10) / 10), low + 0.1)];
  }
  if (low > 0 && low < high * 0.5) low = 0;
  return high > low ? [low, high] : [low - 0.5, high + 0.5];
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

const tick = (value) => (Math.abs(value) >= 100 ? grouped(value) : String(Number(value.toFixed(2))));
