// Metrics over what was varied: a line per loss with its interval as a band, a picture per metric.

import { el, say, swatch } from "../common/dom.js";
import { choose, field, fold, select } from "../common/fields.js";
import { brief, inSentence } from "../common/names.js";
import { ink } from "../common/palette.js";
import { colour, heading, named, same, shown, valued } from "./reading.js";
import { Picture, span, ticks } from "./picture.js";

const HEIGHT = 190;
const FOOT = 38;
const LEFT = 46;
const DECADES = 20; // a largest value this many times the smallest asks for a logarithmic axis
const FIRST = 3;
const LINES = "Lines join means over seeds; the band is the 95 % interval of the mean.";
const LEVEL = "Dashed: a loss without the setting that is varied.";

class Over {
  constructor(tab) {
    this.tab = tab;
    this.axis = 0;
    this.other = 0;
    this.title = el("h3", {});
    this.axisMenu = select((name) => this.choose({ axis: Number(name) }));
    this.otherMenu = select((name) => this.choose({ other: Number(name) }));
    this.axisField = field("Over", this.axisMenu);
    this.otherField = field("At", this.otherMenu);
    this.key = el("ul", { class: "rs-flow rs-armkey" });
    this.first = el("div", { class: "rs-columns rs-pictures" });
    this.later = el("div", { class: "rs-columns rs-pictures" });
    this.rest = fold("More metrics", this.later);
    this.rest.addEventListener("toggle", () => this.pictures?.forEach((picture) => picture.again()));
    const menus = el("div", { class: "rs-flow rs-menus" }, this.axisField, this.otherField);
    this.caption = el("p", { class: "rs-note" });
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Over what was varied" }, this.title, menus, this.key, this.first, this.rest, this.caption);
  }

  choose(change) {
    Object.assign(this, change);
    this.show(this.part);
  }

  show(part) {
    this.part = part;
    const axes = (part.axes ?? []).filter((axis) => axis.values.length > 1);
    this.node.hidden = !axes.length || !part.metrics.length;
    if (this.node.hidden) return;
    this.axis = Math.min(this.axis, axes.length - 1);
    const axis = axes[this.axis];
    say(this.title, `Over ${inSentence(axis.title)}`);
    choose(this.axisMenu, axes.map((one, place) => ({ name: place, title: one.title })), this.axis);
    this.axisField.hidden = axes.length < 2;
    const others = axes.filter((one) => one !== axis);
    const all = distinct(part.rows.map((row) => places(row, others)));
    const rests = all.filter((rest) => !all.some((other) => other !== rest && within(rest, other)));
    this.other = Math.min(this.other, rests.length - 1);
    choose(this.otherMenu, rests.map((rest, place) => ({ name: place, title: named(rest) })), this.other);
    this.otherField.hidden = rests.length < 2;
    const rows = part.rows.filter((row) => within(places(row, others), rests[this.other]));
    this.lines = lines(rows, axis);
    say(this.caption, this.lines.some((line) => line.rows[0][0] < 0) ? `${LINES} ${LEVEL}` : LINES);
    this.key.replaceChildren(...this.lines.map((line) => el("li", { class: "rs-flow" }, swatch(line.colour), el("span", { text: brief(line.title) }))));
    this.draw(part.metrics, axis);
  }

  draw(metrics, axis) {
    const known = metrics.filter((metric) => this.lines.some((line) => line.rows.some(([, row]) => Number.isFinite(row.cells[metric.key]?.mean))));
    const keys = JSON.stringify([axis.title, ...known.map((metric) => metric.key)]);
    if (keys !== this.keys) {
      this.keys = keys;
      this.pictures = known.map((metric) => new Picture(heading(metric), `over-${axis.title.replace(/\W+/g, "-")}-${metric.key}`, (width) => picture(metric, axis, this.lines, width)));
      this.first.replaceChildren(...this.pictures.slice(0, FIRST).map((one) => one.node));
      this.later.replaceChildren(...this.pictures.slice(FIRST).map((one) => one.node));
      this.rest.hidden = this.pictures.length <= FIRST;
    }
    for (const one of this.pictures) one.update();
  }
}

/** The value of a row on an axis; undefined: it is not varied in this loss. */
const at = (row, axis) => row[axis.of][axis.title];

/** Where a row lies on axes, as far as they are varied in its loss. */
const places = (row, axes) => Object.fromEntries(axes.map((axis) => [axis.title, at(row, axis)]).filter(([, value]) => value !== undefined));

/** Whether every place of one is among those of the other. */
const within = (one, other) => Object.entries(one).every(([name, value]) => other[name] === value);

function distinct(all) {
  return all.filter((one, place) => all.findIndex((other) => same(one, other)) === place);
}

/** A line per loss: its rows with their places on the axis, in the axis's order; without one, a level of its own. */
function lines(rows, axis) {
  const families = new Map();
  for (const row of rows) families.set(row.family, [...(families.get(row.family) ?? []), row]);
  return [...families].map(([title, own]) => ({ title, colour: colour(own[0]), rows: own.map((row) => [axis.values.findIndex((value) => value === at(row, axis)), row]).sort(([a], [b]) => a - b) }));
}

function picture(metric, axis, drawn, width) {
  const found = drawn.flatMap((line) => line.rows.map(([, row]) => row.cells[metric.key])).filter((cell) => Number.isFinite(cell?.mean));
  const limits = span(found.flatMap((cell) => [cell.mean, cell.low, cell.high]));
  const height = HEIGHT + FOOT;
  if (!limits) return { height, shapes: [], words: "No result yet" };
  const x = across(axis, LEFT + 14, width - 18);
  const y = (value) => HEIGHT - 6 - ((value - limits[0]) / (limits[1] - limits[0])) * (HEIGHT - 14);
  const grid = ticks(...limits, 4).flatMap((tick) => [
    el("line", { class: "rs-gridline", x1: LEFT, x2: width, y1: y(tick), y2: y(tick) }),
    el("text", { class: "rs-ticktext", x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end", text: valued(metric, tick) }),
  ]);
  const foot = axis.values.map((value, place) => el("text", { class: "rs-ticktext", x: x(place), y: HEIGHT + 16, "text-anchor": "middle", text: shown(value) }));
  const title = el("text", { class: "rs-ticktext", x: (LEFT + width) / 2, y: HEIGHT + 33, "text-anchor": "middle", text: `${axis.title}${SCALES[scaleOf(axis)]}` });
  const shapes = drawn.flatMap((line) => shape(line, metric, x, y, width));
  const words = drawn.map((line) => `${line.title}: ${line.rows.map(([place, row]) => `${place < 0 ? "" : `${shown(axis.values[place])} `}${valued(metric, row.cells[metric.key]?.mean)}`).join(", ")}`).join("; ");
  return { height, shapes: [...grid, ...foot, title, ...shapes], words };
}

function shape(line, metric, x, y, width) {
  const points = line.rows.map(([place, row]) => [place, row.cells[metric.key]]).filter(([, cell]) => Number.isFinite(cell?.mean));
  if (!points.length) return [];
  const colour = ink(line.colour);
  if (points[0][0] < 0) return [el("line", { class: `rs-series rs-levelline ${colour}`, x1: LEFT, x2: width, y1: y(points[0][1].mean), y2: y(points[0][1].mean) })];
  const sure = points.filter(([, cell]) => Number.isFinite(cell.low));
  const edge = [...sure.map(([place, cell]) => `${x(place)},${y(cell.high)}`), ...sure.toReversed().map(([place, cell]) => `${x(place)},${y(cell.low)}`)];
  const band = sure.length > 1 ? [el("polygon", { class: `rs-band ${colour}`, points: edge.join(" ") })] : sure.map(([place, cell]) => el("line", { class: `rs-range95 ${colour}`, x1: x(place), x2: x(place), y1: y(cell.low), y2: y(cell.high) }));
  const path = el("polyline", { class: `rs-series ${colour}`, points: points.map(([place, cell]) => `${x(place)},${y(cell.mean)}`).join(" ") });
  return [...band, path, ...points.map(([place, cell]) => el("circle", { class: `rs-meanmark ${colour}`, cx: x(place), cy: y(cell.mean), r: 4 }))];
}

/** How values are placed: to scale, by their logarithms, or evenly where neither tells them apart, as with 0 among decades. */
function scaleOf({ values }) {
  if (values.some((value) => typeof value !== "number")) return "order";
  const above = values.filter((value) => value > 0);
  if (above.length < 2 || Math.max(...above) < DECADES * Math.min(...above)) return "linear";
  return above.length === values.length ? "log" : "even";
}

const SCALES = { linear: "", log: ", logarithmic axis", even: ", evenly spaced", order: "" };

/** From the place of a value to where it is drawn. */
function across(axis, left, right) {
  const { values } = axis;
  const scale = scaleOf(axis);
  const scaled = values.map((value, place) => (scale === "linear" ? value : scale === "log" ? Math.log(value) : place));
  const [low, high] = [Math.min(...scaled), Math.max(...scaled)];
  return (place) => left + ((scaled[place] - low) / (high - low || 1)) * (right - left);
}

export const OVER = { name: "over", make: (tab) => new Over(tab) };
