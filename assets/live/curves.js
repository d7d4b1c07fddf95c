// Small multiples: one panel per number, one colour per run, one cursor for all of them and the scrubber.

import { el, grouped, say } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { listed, signed } from "../common/measures.js";
import { brief } from "../common/names.js";
import { ink } from "../common/palette.js";
import { Ablation } from "./ablation.js";
import { Profiles } from "./profiles.js";
import { table, tableBox } from "../common/table.js";

const WIDTH = 300;
const HEIGHT = 110;
const SHARE = "share"; // a number from 0 to 1

const DOTTED = "dotted: baseline";

/** `on`: {seek(step)} when a panel is clicked; `baseline`: see baseline.js. */
export class Curves {
  constructor(on, baseline) {
    Object.assign(this, { on, baseline });
    this.panels = new Map();
    this.first = el("div", { class: "rs-columns rs-panels" });
    this.later = el("div", { class: "rs-columns rs-panels" });
    this.rest = fold("More curves: loss terms, levels, speed", this.later);
    this.table = tableBox();
    this.numbers = fold("Numbers as a table", this.table);
    this.numbers.addEventListener("toggle", () => this.tabulate());
    this.rest.addEventListener("toggle", () => this.draw());
    this.key = el("p", { class: "rs-note rs-key" });
    this.pictures = [new Ablation(), new Profiles()];
    const pictures = this.pictures.map((picture) => picture.node);
    this.node = el("section", { class: "rs-curves", "aria-label": "Curves" }, this.first, this.key, ...pictures, this.rest, this.numbers);
  }

  /** No numbers yet. */
  empty() {
    this.hovered = null;
    this.step = undefined;
    this.panels.clear();
    for (const picture of this.pictures) picture.empty();
    for (const part of [this.first, this.later, this.table]) part.replaceChildren();
    say(this.key, "");
  }

  load(run, series) {
    this.empty();
    this.run = run;
    this.series = series;
    for (const number of run.measures.panels) this.panel(this.first, number);
    for (const picture of this.pictures) picture.load(run);
  }

  panel(host, number) {
    const panel = new Panel(this.run, number, {
      hover: (step) => this.hover(step),
      seek: (step) => this.on.seek(step),
    });
    this.panels.set(number.key, panel);
    host.append(panel.node);
  }

  /** Panels for keys that have turned up: named terms, levels, speed. */
  discover() {
    const { later } = this.run.measures;
    const place = (key) => Math.max(later.indexOf(key), later.indexOf(this.series.named[key].name));
    const fresh = this.series.keys.filter((key) => !this.panels.has(key) && this.series.named[key].curve && place(key) >= 0);
    for (const key of fresh.sort((a, b) => place(a) - place(b))) this.panel(this.later, { key, ...this.series.named[key] });
    this.rest.hidden = !this.later.children.length;
  }

  update(step) {
    this.step = step;
    this.discover();
    this.draw();
    for (const picture of this.pictures) picture.update(this.series, step);
    if (this.numbers.open) this.tabulate();
  }

  draw() {
    const last = Math.max(this.series.lastStep(), 1);
    const words = this.stages().map(([step, title]) => `${title} from step ${grouped(step)}`);
    say(this.key, [`steps 0 to ${grouped(last)}`, this.run.measures.legend, this.dotted(), ...words].filter(Boolean).join(" · "));
    for (const panel of this.panels.values()) {
      if (panel.node.parentNode === this.later && !this.rest.open) continue;
      panel.draw(this.series, last, this.stages(), this.baseline.lines(panel.key, last));
      panel.cursor(this.series, this.hovered ?? this.step, last);
    }
  }

  /** What the lines of the baseline look like; grey are those that stand in no arm's colour. */
  dotted() {
    if (!this.baseline.there) return "";
    const grey = this.baseline.about.arms.filter((title) => !this.run.arms.some((arm) => arm.title === title));
    return grey.length ? `${DOTTED}, its ${listed(grey.map((title) => brief(title)))} grey` : DOTTED;
  }

  /** [step, title] of each stage that has begun; empty in a run of one stage. */
  stages() {
    const { stage } = this.run.measures;
    return this.series.keys.filter((key) => key.startsWith(stage)).map((key) => [this.series.arms(key)[0][0][0], key.slice(stage.length)]);
  }

  hover(step) {
    this.hovered = step;
    const last = Math.max(this.series.lastStep(), 1);
    for (const panel of this.panels.values()) panel.cursor(this.series, step ?? this.step, last);
  }

  tabulate() {
    if (!this.numbers.open) return;
    const { arms } = this.run;
    const cell = (key, arm) => {
      const measured = this.series.point(key, arm, this.step);
      const less = this.baseline.less(key, arm, measured, !this.series.named[key].curve);
      return `${short(measured?.[1])}${less === null ? "" : ` (${signed(less)})`}`;
    };
    const row = (key) => [brief(this.series.named[key].title), ...arms.map((_, arm) => cell(key, arm))];
    const keys = this.series.keys.filter((key) => !key.startsWith(this.run.measures.stage));
    this.table.replaceChildren(table([`At step ${grouped(this.step)}`, ...arms.map((arm) => arm.title)], keys.map(row)));
  }
}

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
function domain(values, unit) {
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

function short(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 100) return grouped(value);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3);
}

const tick = (value) => (Math.abs(value) >= 100 ? grouped(value) : String(Number(value.toFixed(2))));
