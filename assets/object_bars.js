// Means with their 95 % intervals: a row per number, a mark per model, all on one axis from 0 to 100; and as a table.

import { el } from "./dom.js";
import { fold } from "./object_fields.js";
import { ARM_NAMES } from "./palette.js";

const ROWS = [
  ["ODmAP_at_1", "ODmAP@1"],
  ["ODmAP_at_5", "ODmAP@5"],
  ["ODmAP_at_10", "ODmAP@10"],
  ["hallucination_at_1", "names a removed object @1"],
  ["original_names_at_1", "the same, original photo"],
  ["present_at_1", "names what is there @1"],
  ["i2t_R_at_1", "image to text R@1"],
  ["i2t_R_at_5", "image to text R@5"],
  ["i2t_R_at_10", "image to text R@10"],
  ["t2i_R_at_1", "text to image R@1"],
];
const LANE = 11;

export class Bars {
  constructor(models) {
    this.models = models;
    const known = ROWS.filter(([key]) => models.some((model) => model.values[key]));
    const chart = el("div", { class: "rs-bars" }, ...known.flatMap(([key, name]) => this.row(key, name)), el("span", {}), this.axis());
    const note = el("p", { class: "rs-setabout", text: "Lines are 95 % intervals: where two lie apart, chance alone hardly explains the difference." });
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

  /** Every number that came, with its interval and count. */
  table() {
    const keys = [...new Set(this.models.flatMap((model) => Object.keys(model.values)))];
    const names = new Map(ROWS);
    const head = el("tr", {}, el("th", { scope: "col", text: "mean (95 % interval), in %" }), ...this.models.map((model) => el("th", { scope: "col", text: model.title })));
    const row = (key) => el("tr", {}, el("th", { scope: "row", text: names.get(key) ?? key.replaceAll("_", " ") }), ...this.models.map((model) => el("td", { text: spelled(model.values[key]) })));
    const table = el("table", { class: "rs-table" }, el("thead", {}, head), el("tbody", {}, ...keys.map(row)));
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
