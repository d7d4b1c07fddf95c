// One number against another: the path of each arm over the steps, with its start, its end and the step that is shown.

import { Chart, curve, edge, named, titled } from "../../common/chart.js";
import { el, grouped, say, swatch } from "../../common/dom.js";
import { ink } from "../../common/palette.js";
import { dot } from "../../vendor/plot.js";
import { domain, Panel, short } from "../../common/panel.js";

const HEIGHT = 228;
const MOST = 300; // points of a path

class PathView {
  constructor(run, about, on) {
    Object.assign(this, { run, about, wide: about.panels.length > 0, last: 1 });
    this.chart = new Chart();
    this.readings = el("ul", { class: "rs-flow rs-note rs-plotreadings" });
    this.key = el("p", { class: "rs-note rs-plotkey" });
    const path = el("div", { class: "rs-plotpath" }, el("p", { class: "rs-note rs-axisup", text: about.y.title }), el("div", { class: "rs-plotbox" }, this.chart.node), this.readings, this.key);
    this.panels = about.panels.map((number) => new Panel(run, { ...number, height: HEIGHT }, { hover: (step) => this.hover(step), seek: (step) => on.seek(step) }));
    this.node = el("div", { class: "rs-plotbody" }, path, ...this.panels.map((panel) => panel.node));
  }

  draw(series, step) {
    Object.assign(this, { series, step, last: Math.max(series.lastStep(), 1) });
    this.lines = this.run.arms.map((_, arm) => points(series, this.about, arm));
    const all = this.lines.flat();
    if (!all.length) return false;
    const { about } = this;
    this.chart.show(() => this.drawing(all, step));
    const at = this.lines.map((line) => line.findLast(([one]) => one <= step) ?? null);
    this.readings.replaceChildren(...at.flatMap((point, arm) => (point ? [el("li", { class: "rs-flow" }, swatch(arm), el("span", { text: `${short(point[1])} · ${short(point[2])}` }))] : [])));
    say(this.key, `● step ${grouped(step)}, across · up · ○ first · ■ last${about.diagonal ? " · dotted: both equal" : ""}`);
    const words = at.map((point, arm) => `${this.run.arms[arm].title} ${point ? `${short(point[1])} and ${short(point[2])}` : "no value"}`);
    this.chart.say(`${about.y.title} against ${about.x.title} at step ${Math.round(step)}: ${words.join(", ")}`);
    for (const panel of this.panels) {
      panel.draw(series, this.last);
      panel.cursor(series, this.hovered ?? step);
    }
    return true;
  }

  hover(step) {
    this.hovered = step;
    for (const panel of this.panels) panel.cursor(this.series, step ?? this.step);
  }

  /** With a diagonal both axes have one scale. */
  drawing(all, step) {
    const [xs, ys] = [1, 2].map((place) => all.map((point) => point[place]));
    const { diagonal, x } = this.about;
    const both = diagonal && domain([...xs, ...ys], "share");
    const [across, up] = [both || domain(xs, "number"), both || domain(ys, "number")];
    const axes = [named(up, twoDigits), titled(across, x.title, { tickFormat: twoDigits }), edge("left"), edge()];
    const dotted = diagonal ? [curve([[both[0], both[0]], [both[1], both[1]]], "rs-cursor rs-begin")] : [];
    const marks = this.lines.flatMap((points, arm) => path(points, arm, step));
    return { height: HEIGHT, marginRight: 14, marginBottom: 22, x: { domain: across, inset: 6 }, y: { domain: up, inset: 6 }, marks: [...axes, ...dotted, ...marks] };
  }

  rows() {
    const { about, run, series } = this;
    const head = ["arm", "loss", "step", about.x.title, about.y.title, ...about.panels.map(({ title }) => title)];
    const rows = this.lines.flatMap((line, arm) => line.map(([step, x, y]) => [arm, run.arms[arm].title, step, x, y, ...about.panels.map(({ key }) => series.at(key, arm, step) ?? "")]));
    return [head, ...rows];
  }
}

/** [step, x, y] wherever both numbers are known: at the steps of the rarer one. */
function points(series, { x, y }, arm) {
  const [across, up] = [x, y].map(({ key }) => series.arms(key)[arm] ?? []);
  if (!across.length || !up.length) return [];
  const [rare, other] = across.length <= up.length ? [across, y] : [up, x];
  const end = Math.min(across.at(-1)[0], up.at(-1)[0]);
  return rare.flatMap(([step, value]) => {
    const beside = step <= end ? series.between(other.key, arm, step) : null;
    if (!beside) return [];
    const pair = rare === across ? [value, beside[1]] : [beside[1], value];
    return [[step, seen(pair[0], x), seen(pair[1], y)]];
  });
}

const seen = (value, axis) => (axis.complement ? 1 - value : value);

const twoDigits = (value) => String(Number(value.toPrecision(2)));

/** All of a path faintly, its part up to the step, its first and last point and the one at the step. */
function path(points, arm, step) {
  if (!points.length) return [];
  const begun = points.filter(([one]) => one <= step);
  const line = (some, kind) => curve(thin(some).map(([, x, y]) => [x, y]), `${kind} ${ink(arm)}`);
  const mark = (point, kind, look) => dot([point], { x: "1", y: "2", fill: "currentColor", className: `${kind} ${ink(arm)}`, ...look });
  return [
    line(points, "rs-pathahead"),
    line(begun, "rs-pathbegun"),
    mark(points[0], "rs-pathstart", { r: 4, fill: "var(--rs-surface)", stroke: "currentColor", strokeWidth: 3 }),
    mark(points.at(-1), "rs-pathend", { r: 4.5, symbol: "square" }),
    ...begun.slice(-1).map((point) => mark(point, "rs-pathnow", { r: 5.5 })),
  ];
}

/** At most MOST points of a line and its last one. */
function thin(line) {
  const every = Math.ceil(line.length / MOST);
  return every <= 1 ? line : line.filter((_, i) => i % every === 0 || i === line.length - 1);
}

export const PATH = { name: "path", make: (run, about, on) => new PathView(run, about, on) };
