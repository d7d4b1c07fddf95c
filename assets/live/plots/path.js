// One number against another: the path of each arm over the steps, with its start, its end and the step that is shown.

import { el, grouped, say, swatch } from "../../common/dom.js";
import { ink } from "../../common/palette.js";
import { domain, Panel, short } from "../panel.js";

const WIDTH = 300;
const HEIGHT = 200;
const MOST = 300; // points of a path
const EDGE = 0.03; // of each side beside the outermost points

class PathView {
  constructor(run, about, on) {
    Object.assign(this, { run, about, wide: about.panels.length > 0, last: 1 });
    this.marks = el("g", {});
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, this.marks);
    const corner = (place) => el("span", { class: `rs-note rs-tick ${place}` });
    [this.high, this.low] = [corner("rs-high"), corner("rs-low")];
    [this.left, this.right] = [el("span", {}), el("span", {})];
    this.readings = el("ul", { class: "rs-flow rs-note rs-plotreadings" });
    this.key = el("p", { class: "rs-note rs-plotkey" });
    const axis = el("p", { class: "rs-note rs-axis" }, this.left, el("span", { text: about.x.title }), this.right);
    const path = el("div", { class: "rs-plotpath" }, el("p", { class: "rs-note rs-axisup", text: about.y.title }), el("div", { class: "rs-plotbox" }, this.svg, this.high, this.low), axis, this.readings, this.key);
    this.panels = about.panels.map((number) => new Panel(run, number, { hover: (step) => this.hover(step), seek: (step) => on.seek(step) }));
    this.node = el("div", { class: "rs-plotbody" }, path, ...this.panels.map((panel) => panel.node));
  }

  draw(series, step) {
    Object.assign(this, { series, step, last: Math.max(series.lastStep(), 1) });
    this.lines = this.run.arms.map((_, arm) => points(series, this.about, arm));
    const all = this.lines.flat();
    if (!all.length) return false;
    this.scale(all);
    const { about } = this;
    const [low, high] = this.across;
    const diagonal = el("line", { class: "rs-cursor rs-begin", x1: this.x(low), y1: this.y(low), x2: this.x(high), y2: this.y(high) });
    const marks = this.lines.flatMap((line, arm) => this.path(line, arm, step));
    this.marks.replaceChildren(...(about.diagonal ? [diagonal] : []), ...marks);
    const at = this.lines.map((line) => line.findLast(([one]) => one <= step) ?? null);
    this.readings.replaceChildren(...at.flatMap((point, arm) => (point ? [el("li", { class: "rs-flow" }, swatch(arm), el("span", { text: `${short(point[1])} · ${short(point[2])}` }))] : [])));
    say(this.key, `● step ${grouped(step)}, across · up · ○ first · ■ last${about.diagonal ? " · dotted: both equal" : ""}`);
    const words = at.map((point, arm) => `${this.run.arms[arm].title} ${point ? `${short(point[1])} and ${short(point[2])}` : "no value"}`);
    this.svg.setAttribute("aria-label", `${about.y.title} against ${about.x.title} at step ${Math.round(step)}: ${words.join(", ")}`);
    for (const panel of this.panels) {
      panel.draw(series, this.last);
      panel.cursor(series, this.hovered ?? step, this.last);
    }
    return true;
  }

  hover(step) {
    this.hovered = step;
    for (const panel of this.panels) panel.cursor(this.series, step ?? this.step, this.last);
  }

  /** With a diagonal both axes have one scale. */
  scale(all) {
    const [xs, ys] = [1, 2].map((place) => all.map((point) => point[place]));
    if (this.about.diagonal) this.across = this.up = domain([...xs, ...ys], "share");
    else [this.across, this.up] = [domain(xs, "number"), domain(ys, "number")];
    const ends = [[this.left, this.across[0]], [this.right, this.across[1]], [this.low, this.up[0]], [this.high, this.up[1]]];
    for (const [node, value] of ends) say(node, String(Number(value.toPrecision(2))));
  }

  x(value) {
    return WIDTH * (EDGE + (1 - 2 * EDGE) * share(value, this.across));
  }

  y(value) {
    return HEIGHT * (1 - EDGE - (1 - 2 * EDGE) * share(value, this.up));
  }

  path(line, arm, step) {
    if (!line.length) return [];
    const place = ([, x, y]) => `${this.x(x).toFixed(2)} ${this.y(y).toFixed(2)}`;
    const d = (some) => some.map((point, i) => `${i ? "L" : "M"}${place(point)}`).join("");
    const dot = (point, kind) => el("path", { d: `M${place(point)}h0`, class: `rs-line ${ink(arm)} ${kind}` });
    const few = thin(line);
    const begun = line.filter(([one]) => one <= step);
    const now = begun.at(-1);
    return [
      el("path", { d: d(few), class: `rs-line rs-pathahead ${ink(arm)}` }),
      el("path", { d: d(thin(begun)), class: `rs-line ${ink(arm)}` }),
      dot(line[0], "rs-pathstart"),
      el("path", { d: `M${place(line[0])}h0`, class: "rs-line rs-pathhole" }),
      dot(line.at(-1), "rs-pathend"),
      ...(now ? [dot(now, "rs-pathnow")] : []),
    ];
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

const share = (value, [low, high]) => (value - low) / (high - low);

/** At most MOST points of a line and its last one. */
function thin(line) {
  const every = Math.ceil(line.length / MOST);
  return every <= 1 ? line : line.filter((_, i) => i % every === 0 || i === line.length - 1);
}

export const PATH = { name: "path", make: (run, about, on) => new PathView(run, about, on) };
