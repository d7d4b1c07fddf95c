// Means with their 95 % intervals: a row per number, a mark per model, all on one axis from 0 to 100; and as a table.

import { el } from "../common/dom.js";
import { fold } from "./fields.js";
import { ARM_NAMES } from "../common/palette.js";

const LANE = 11;

export class Bars {
  /** `measures`: bars and all numbers as the server sends them, {key, title} each. */
  constructor(models, measures) {
    Object.assign(this, { models, measures });
    const known = measures.bars.filter(({ key }) => models.some((model) => model.values[key]));
    const chart = el("div", { class: "rs-bars" }, ...known.flatMap(({ key, title }) => this.row(key, title)), el("span", {}), this.axis());
    const note = el("p", { class: "rs-note", text: "Lines are 95 % intervals: where two lie apart, chance alone hardly explains the difference." });
    this.node = el("div", { class: "rs-stack" }, chart, note, fold("Numbers as a table", this.table()));
  }

  row(key, name) {
    const height = LANE * this.models.length + 6;
    const words = this.models.map((model) => `${model.title} ${spelled(model.values[key])}`).join("; ");
    const grid = [0, 25, 50, 75, 100].map((at) => el("line", { class: "rs-barrule", x1: `${at}%`, x2: `${at}%`, y1: 0, y2: height }));
    const marks = this.models.flatMap((model, arm) => mark(model.values[key], arm));
    const svg = el("svg", { class: "rs-bar", height, width: "100%", role: "img", "aria-label": `${name}: ${words}` }, ...grid, ...marks);
    return [el("span", { class: "rs-barname", text: name }), svg];
  }

  axis() {
    return el("div", { class: "rs-baraxis", "aria-hidden": "true" }, ...["0", "50", "100"].map((text) => el("span", { text })));
  }

  /** Every number, with its interval. */
  table() {
    const head = el("tr", {}, el("th", { scope: "col", text: "mean (95 % interval), in %" }), ...this.models.map((model) => el("th", { scope: "col", text: model.title })));
    const row = ({ key, title }) => el("tr", {}, el("th", { scope: "row", text: title }), ...this.models.map((model) => el("td", { text: spelled(model.values[key]) })));
    const table = el("table", { class: "rs-table" }, el("thead", {}, head), el("tbody", {}, ...this.measures.all.map(row)));
    return el("div", { class: "rs-tablebox", tabindex: "0", role: "region", "aria-label": "Numbers as a table" }, table);
  }
}

function mark(value, arm) {
  if (!Number.isFinite(value?.mean)) return [];
  const y = 3 + LANE * (arm + 0.5);
  const at = (share) => `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`;
  const ink = `rs-barmark rs-${ARM_NAMES[arm]}`;
  const line = Number.isFinite(value.low) ? [el("line", { class: ink, x1: at(value.low), x2: at(value.high), y1: y, y2: y })] : [];
  return [...line, el("circle", { class: ink, cx: at(value.mean), cy: y, r: 4 })];
}

function spelled(value) {
  if (!value || !Number.isFinite(value.mean)) return "–";
  const part = (share) => (share * 100).toFixed(1);
  const interval = Number.isFinite(value.low) ? ` (${part(value.low)} to ${part(value.high)})` : "";
  return `${part(value.mean)}${interval}`;
}
