// Numbers by group, as bars at the shown step: a small picture per arm. The server says which numbers they are.

import { Chart, edge, named } from "../common/chart.js";
import { el, figure, grouped, say, swatch } from "../common/dom.js";
import { brief } from "../common/names.js";
import { ink } from "../common/palette.js";
import { percent } from "../common/measures.js";
import { rect } from "../vendor/plot.js";

const HEIGHT = 96;

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
    this.chart = new Chart();
    this.from = el("span", {});
    this.middle = el("span", {});
    this.to = el("span", {});
    this.beside = el("span", { class: "rs-note rs-beside" });
    const title = el("figcaption", { class: "rs-flow" }, swatch(index), el("span", { class: "rs-clamp", text: brief(arm.title, 120) }), this.beside);
    const axis = el("p", { class: "rs-note rs-axis" }, this.from, this.middle, this.to);
    this.node = el("figure", { class: "rs-curve rs-chart", hidden: true }, title, el("div", {}, el("div", { class: "rs-plotbox" }, this.chart.node), axis));
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
    this.chart.show(() => ({ height: HEIGHT, x: { domain: [0, groups.length / share] }, y: { domain: limits }, marks: this.marks(groups, share, limits) }));
    this.label(groups, share);
    const beside = about.beside.map(({ key, short: name, unit }) => [name, series.at(key, index, step), unit]).filter(([, value]) => value !== null);
    say(this.beside, beside.map(([name, value, unit]) => `${name} ${unit === "share" ? percent(value) : figure(value)}`).join(" · "));
    return true;
  }

  marks(groups, share, limits) {
    const count = groups.length;
    const bars = rect(groups, { x1: (_, place) => place, x2: (_, place) => place + 1, y1: 0, y2: "value", insetRight: 2, className: `rs-profilebar ${ink(this.index)}` });
    const rest = rect(share < 1 ? [count] : [], { x1: count, x2: count / share, y1: limits[0], y2: limits[1], className: "rs-unfilled" });
    return [named(limits), edge(), bars, rest];
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
    this.chart.say(`${about.title}, ${this.arm.title}: ${words}${rest ? `; ${rest}` : ""}`);
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
