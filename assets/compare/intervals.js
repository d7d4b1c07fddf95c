// Means with their intervals, a picture per metric: rows are the variants, small dots the seeds.

import { el } from "../common/dom.js";
import { hue } from "../common/palette.js";
import { axisX, dot, gridX, ruleY, text } from "../vendor/plot.js";
import { known, Pictures } from "./picture.js";
import { colour, format, formatWithInterval } from "./reading.js";

const ROW = 26;
const TITLE = 17; // the line of a name that has no room beside its interval
const LETTER = 7.2; // about the width of a letter

class Intervals {
  constructor(tab) {
    this.tab = tab;
    this.pictures = new Pictures((metric, width) => drawing(metric, this.rows, width), (metric) => describe(metric, this.rows));
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Intervals" }, el("h3", { text: "Means and 95 % intervals" }), ...this.pictures.nodes);
  }

  show(part) {
    this.rows = part.under(this.tab.condition);
    const metrics = part.metrics.filter((metric) => this.rows.some((row) => known(row.cells[metric.key])));
    this.node.hidden = !metrics.length;
    this.pictures.show(metrics, "intervals");
  }
}

const describe = (metric, rows) => rows.map((row) => `${row.variant}: ${formatWithInterval(metric, known(row.cells[metric.key]) ? row.cells[metric.key] : null)}`).join("; ");

function drawing(metric, rows, width) {
  const room = LETTER * Math.max(...rows.map((row) => row.variant.length)) + 12;
  const above = room > 0.4 * width;
  const names = { textAnchor: "start", fontSize: 13, fill: "var(--rs-text)", lineWidth: (above ? width : room) / 13, textOverflow: "ellipsis" };
  const all = rows.map((row) => ({ variant: row.variant, fill: hue(colour(row)), ...row.cells[metric.key] }));
  const cells = all.filter(known);
  const seeds = cells.flatMap(({ values, ...cell }) => values.map(({ value }) => ({ ...cell, value })));
  const [x, y] = ["mean", "variant"];
  const marks = [
    gridX({ stroke: "var(--rs-line)", strokeOpacity: 1 }),
    axisX({ tickSize: 0, label: null, tickFormat: (tick) => format(metric, tick), color: "var(--rs-soft)", tickSpacing: 56 }),
    text(all, { y, text: y, frameAnchor: "left", dx: above ? 0 : -room, dy: above ? -14 : 0, ...names }),
    text(all.filter((cell) => !known(cell)), { y, text: () => "no result", frameAnchor: "left", textAnchor: "start", fill: "var(--rs-soft)" }),
    ruleY(cells.filter(({ low }) => Number.isFinite(low)), { y, x1: "low", x2: "high", stroke: "fill", strokeWidth: 2.5, strokeLinecap: "round" }),
    dot(seeds, { y, x: "value", fill: "fill", fillOpacity: 0.6, r: 2, dy: 7 }),
    dot(cells, { y, x, fill: "fill", r: 5 }),
  ];
  const height = rows.length * (above ? ROW + TITLE : ROW) + 24;
  return { height, marginTop: 0, marginLeft: above ? 0 : room, marginRight: 8, marginBottom: 24, x: { inset: 8 }, y: { type: "point", domain: all.map(({ variant }) => variant), padding: 0.5, insetTop: above ? TITLE / 2 : 0 }, marks };
}

export const INTERVALS = { name: "intervals", make: (tab) => new Intervals(tab) };
