// Metrics over what was varied: a line per loss with its interval as a band, a picture per metric.

import { titled } from "../common/chart.js";
import { el, say, swatch } from "../common/dom.js";
import { choose, field, select } from "../common/fields.js";
import { brief, inSentence } from "../common/names.js";
import { hue } from "../common/palette.js";
import { areaY, axisY, dot, gridY, line as plotLine, ruleX, ruleY } from "../vendor/plot.js";
import { known, Pictures } from "./picture.js";
import { colour, named, same, shown, format } from "./reading.js";

const DECADES = 20; // a largest value this many times the smallest asks for a logarithmic axis
const LINES = "Lines join means over seeds; the band is the 95 % interval of the mean.";
const LEVEL = "Dashed: without the parameter that is varied.";

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
    this.pictures = new Pictures((metric) => drawing(metric, this.axisShown, this.lines), (metric) => describe(metric, this.axisShown, this.lines));
    const menus = el("div", { class: "rs-flow rs-menus" }, this.axisField, this.otherField);
    this.caption = el("p", { class: "rs-note" });
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Over what was varied" }, this.title, menus, this.key, ...this.pictures.nodes, this.caption);
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
    choose(this.axisMenu, axes.map((axis, place) => ({ name: place, title: axis.title })), this.axis);
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
    this.axisShown = axis;
    const metrics = part.metrics.filter((metric) => this.lines.some((line) => line.rows.some(([, row]) => known(row.cells[metric.key]))));
    this.pictures.show(metrics, `over-${axis.title.replace(/\W+/g, "-")}`);
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
  return [...families].map(([title, ofFamily]) => ({ title, colour: colour(ofFamily[0]), rows: ofFamily.map((row) => [axis.values.findIndex((value) => value === at(row, axis)), row]).sort(([a], [b]) => a - b) }));
}

const describe = (metric, axis, all) => all.map((line) => `${line.title}: ${line.rows.map(([place, row]) => `${place < 0 ? "" : `${shown(axis.values[place])} `}${format(metric, row.cells[metric.key]?.mean)}`).join(", ")}`).join("; ");

function drawing(metric, axis, all) {
  const scale = scaleOf(axis);
  const scaled = scale === "linear" || scale === "log";
  const at = (place) => (scaled ? axis.values[place] : place);
  const places = [...axis.values.keys()];
  const marks = [
    gridY({ stroke: "var(--rs-line)", strokeOpacity: 1, ticks: 4 }),
    axisY({ tickSize: 0, ticks: 4, label: null, tickFormat: (tick) => format(metric, tick), color: "var(--rs-soft)" }),
    titled(places.map(at), `${axis.title}${SCALES[scale]}`, { tickFormat: (value) => shown(scaled ? value : axis.values[value]) }),
    ...all.flatMap((line) => shapes(line, metric, at)),
  ];
  return { height: 228, marginLeft: 46, marginBottom: 44, x: { type: scale === "log" ? "log" : "linear", domain: extent(places.map(at)), inset: 16 }, y: { inset: 8 }, marks };
}

function shapes(line, metric, at) {
  const points = line.rows.map(([place, row]) => ({ place, x: at(place), ...row.cells[metric.key] })).filter(known);
  const stroke = hue(line.colour);
  if (!points.length) return [];
  if (points[0].place < 0) return [ruleY([points[0].mean], { stroke, strokeWidth: 1.75, strokeDasharray: "5 4" })];
  const sure = points.filter(({ low }) => Number.isFinite(low));
  const range = { x: "x", y1: "low", y2: "high" };
  const band = sure.length > 1 ? areaY(sure, { ...range, fill: stroke, fillOpacity: 0.14 }) : ruleX(sure, { ...range, stroke, strokeWidth: 2.5, strokeLinecap: "round" });
  return [band, plotLine(points, { x: "x", y: "mean", stroke, strokeWidth: 1.75 }), dot(points, { x: "x", y: "mean", r: 4, fill: stroke })];
}

const extent = (values) => [Math.min(...values), Math.max(...values)];

/** How values are placed: to scale, by their logarithms, or evenly where neither tells them apart, as with 0 among decades. */
function scaleOf({ values }) {
  if (values.some((value) => typeof value !== "number")) return "order";
  const above = values.filter((value) => value > 0);
  if (above.length < 2 || Math.max(...above) < DECADES * Math.min(...above)) return "linear";
  return above.length === values.length ? "log" : "even";
}

const SCALES = { linear: "", log: ", logarithmic axis", even: ", evenly spaced", order: "" };

export const OVER = { name: "over", make: (tab) => new Over(tab) };
