// Numbers by group, as bars at the shown step: a small picture per arm. The server says which numbers they are.

import { el, figure, grouped, say, swatch } from "../common/dom.js";
import { brief } from "../common/names.js";
import { ink } from "../common/palette.js";
import { percent } from "../common/measures.js";

const WIDTH = 300;
const HEIGHT = 90;
const GAP = 2;

/** Every profile of a run, shown as soon as an arm has its numbers. */
export class Profiles {
  constructor() {
    this.node = el("div", { class: "rs-profiles" });
    this.empty();
  }

  empty() {
    this.parts = [];
    this.node.replaceChildren();
  }

  load(run) {
    this.empty();
    this.parts = run.measures.profiles.map((about) => new Profile(run, about));
    this.node.replaceChildren(...this.parts.map((part) => part.node));
  }

  update(series, step) {
    for (const part of this.parts) part.draw(series, step);
  }
}

class Profile {
  constructor(run, about) {
    this.about = about;
    this.pictures = run.arms.map((arm, index) => new Picture(arm, index, about));
    const row = el("div", { class: "rs-columns rs-panels" }, ...this.pictures.map((picture) => picture.node));
    this.node = el("section", { class: "rs-profile", hidden: true, "aria-label": about.title }, el("h3", { text: about.title }), row, el("p", { class: "rs-note", text: about.note }));
  }

  /** All arms share the scale of the bars, over all steps. */
  draw(series, step) {
    const keys = members(series, this.about.key);
    const limits = range(keys.flatMap((key) => series.arms(key).flatMap((line) => line.map(([, value]) => value))));
    const shown = this.pictures.map((picture) => picture.draw(series, step, keys, limits));
    this.node.hidden = !shown.some(Boolean);
  }
}

class Picture {
  constructor(arm, index, about) {
    Object.assign(this, { arm, index, about });
    this.bars = el("g", {});
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, this.bars);
    this.high = el("span", { class: "rs-note rs-tick rs-high" });
    this.low = el("span", { class: "rs-note rs-tick rs-low" });
    this.from = el("span", {});
    this.middle = el("span", {});
    this.to = el("span", {});
    this.beside = el("span", { class: "rs-note rs-beside" });
    const title = el("figcaption", { class: "rs-flow" }, swatch(index), el("span", { class: "rs-clamp", text: brief(arm.title, 120) }), this.beside);
    const axis = el("p", { class: "rs-note rs-axis" }, this.from, this.middle, this.to);
    this.node = el("figure", { class: "rs-curve rs-chart", hidden: true }, title, el("div", {}, el("div", { class: "rs-plotbox" }, this.svg, this.high, this.low), axis));
  }

  /** Whether this arm has such numbers at the step. */
  draw(series, step, keys, limits) {
    const { about, index } = this;
    const points = keys.map((key) => [key, series.point(key, index, step)]).filter(([, point]) => point);
    const newest = Math.max(...points.map(([, point]) => point[0]));
    const groups = points.filter(([, point]) => point[0] === newest).map(([key, point]) => ({ value: point[1], mark: series.at(twin(key, about), index, step) }));
    this.node.hidden = !groups.length;
    if (!groups.length) return false;
    const share = series.at(about.share, index, step) ?? 1;
    this.bars.replaceChildren(...this.shapes(groups.map(({ value }) => value), share, limits));
    say(this.high, short(limits[1]));
    say(this.low, short(limits[0]));
    this.label(groups, share);
    const beside = about.beside.map(({ key, short: name, unit }) => [name, series.at(key, index, step), unit]).filter(([, value]) => value !== null);
    say(this.beside, beside.map(([name, value, unit]) => `${name} ${unit === "share" ? percent(value) : figure(value)}`).join(" · "));
    return true;
  }

  shapes(values, share, [low, high]) {
    const y = (value) => HEIGHT - ((value - low) / (high - low)) * HEIGHT;
    const covered = WIDTH * share;
    const width = covered / values.length;
    const bars = values.map((value, i) => {
      const [top, bottom] = [Math.min(y(value), y(0)), Math.max(y(value), y(0))];
      return el("rect", { x: (i * width).toFixed(2), y: top.toFixed(2), width: Math.max(width - GAP, 0.5).toFixed(2), height: Math.max(bottom - top, 0.5).toFixed(2), class: `rs-profilebar ${ink(this.index)}` });
    });
    return share < 1 ? [...bars, el("rect", { x: covered.toFixed(2), y: 0, width: (WIDTH - covered).toFixed(2), height: HEIGHT, class: "rs-unfilled" })] : bars;
  }

  label(groups, share) {
    const { about } = this;
    const mark = (group, words) => (group.mark === null ? words : counted(group.mark));
    const ends = [mark(groups[0], "first"), mark(groups.at(-1), "last")];
    const rest = share < 1 ? `${percent(1 - share)} ${about.rest}` : "";
    say(this.from, ends[0]);
    say(this.middle, rest ? "" : about.axis);
    say(this.to, [`${ends[1]} ${about.unit}`, rest].filter(Boolean).join(" · "));
    const words = groups.map((group) => `${mark(group, "")} ${about.unit}: ${group.value.toFixed(2)}`).join(", ");
    this.svg.setAttribute("aria-label", `${about.title}, ${this.arm.title}: ${words}${rest ? `; ${rest}` : ""}`);
  }
}

/** The keys of a pattern that have turned up, by the place at the start of their group's name. */
function members(series, pattern) {
  const place = (key) => Number.parseFloat(key.slice(pattern.length - 1));
  return series.keys.filter((key) => series.named[key].name === pattern).sort((a, b) => place(a) - place(b));
}

const twin = (key, about) => about.marks.slice(0, -1) + key.slice(about.key.length - 1);

function range(values) {
  let [low, high] = [0, 1];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [Math.floor(low * 10) / 10, Math.ceil(high * 10) / 10];
}

const counted = (value) => (value >= 10 ? grouped(value) : String(Number(value.toFixed(1))));
const short = (value) => String(Number(value.toFixed(2)));
