// Means with their intervals, a picture per metric: rows are the variants, small dots the seeds.

import { el } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { ink } from "../common/palette.js";
import { colour, heading, valued, worded } from "./reading.js";
import { Picture, fitting, span, ticks } from "./picture.js";

const ROW = 26;
const TITLE = 17; // the line of a name that has no room beside its interval
const FOOT = 24;
const LETTER = 7.2; // about the width of a letter
const FIRST = 3; // pictures outside the fold

class Intervals {
  constructor(tab) {
    this.tab = tab;
    this.title = el("h3", { text: "Means and 95 % intervals" });
    this.first = el("div", { class: "rs-columns rs-pictures" });
    this.later = el("div", { class: "rs-columns rs-pictures" });
    this.rest = fold("More metrics", this.later);
    this.rest.addEventListener("toggle", () => this.pictures?.forEach((picture) => picture.again()));
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Intervals" }, this.title, this.first, this.rest);
  }

  show(part) {
    const rows = part.under(this.tab.condition);
    const known = part.metrics.filter((metric) => rows.some((row) => Number.isFinite(row.cells[metric.key]?.mean)));
    this.node.hidden = !known.length;
    const keys = known.map((metric) => metric.key).join();
    Object.assign(this, { rows });
    if (keys !== this.keys) {
      this.keys = keys;
      this.pictures = known.map((metric) => new Picture(heading(metric), `intervals-${metric.key}`, (width) => draw(metric, this.rows, width)));
      this.first.replaceChildren(...this.pictures.slice(0, FIRST).map((picture) => picture.node));
      this.later.replaceChildren(...this.pictures.slice(FIRST).map((picture) => picture.node));
      this.rest.hidden = this.pictures.length <= FIRST;
    }
    for (const picture of this.pictures) picture.update();
  }
}

function draw(metric, rows, width) {
  const cells = rows.map((row) => row.cells[metric.key]).map((cell) => (Number.isFinite(cell?.mean) ? cell : null));
  const limits = span(cells.flatMap((cell) => (cell ? [cell.mean, cell.low, cell.high, ...cell.values.map(({ value }) => value)] : [])));
  const room = LETTER * Math.max(...rows.map((row) => row.variant.length)) + 12;
  const above = room > 0.4 * width;
  const [left, right] = [above ? 8 : room, width - 8];
  const step = above ? ROW + TITLE : ROW;
  const bottom = rows.length * step;
  const height = bottom + FOOT;
  if (!limits) return { height, shapes: [], words: "No result yet" };
  const x = (value) => left + ((value - limits[0]) / (limits[1] - limits[0])) * (right - left);
  const scale = ticks(...limits, (right - left) / 48).flatMap((tick) => [
    el("line", { class: "rs-gridline", x1: x(tick), x2: x(tick), y1: 0, y2: bottom }),
    el("text", { class: "rs-ticktext", x: x(tick), y: bottom + 16, "text-anchor": "middle", text: valued(metric, tick) }),
  ]);
  const marks = rows.flatMap((row, place) => {
    const y = (place + 1) * step - ROW / 2;
    const name = el("text", { class: "rs-rowtext", x: 0, y: above ? y - 10 : y + 4, text: fitting(row.variant, above ? width : left, LETTER) });
    const cell = cells[place];
    if (!cell) return [name, el("text", { class: "rs-ticktext", x: left, y: y + 4, text: "no result" })];
    const seeds = cell.values.map(({ value }) => el("circle", { class: `rs-seedmark ${ink(colour(row))}`, cx: x(value), cy: y + 7, r: 2 }));
    const range = Number.isFinite(cell.low) ? [el("line", { class: `rs-range95 ${ink(colour(row))}`, x1: x(cell.low), x2: x(cell.high), y1: y, y2: y })] : [];
    return [name, ...range, ...seeds, el("circle", { class: `rs-meanmark ${ink(colour(row))}`, cx: x(cell.mean), cy: y, r: 5 })];
  });
  const words = rows.map((row, place) => `${row.variant}: ${worded(metric, cells[place])}`).join("; ");
  return { height, shapes: [...scale, ...marks], words };
}

export const INTERVALS = { name: "intervals", make: (tab) => new Intervals(tab) };
