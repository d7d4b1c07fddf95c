// Means with their 95 % intervals over queries: a row per number, a mark per model, all on one axis from 0 to 100; and as a table.

import { clamp, el } from "./dom.js";
import { fold } from "./fields.js";
import { ink } from "./palette.js";
import { table, tableBox } from "./table.js";

const LANE = 11;

/** Chart and table. `measures`: bars and all numbers as the server sends them, {key, title} each; `about`: what they are of, and what the intervals cover. */
export function bars(models, measures, about) {
  const known = measures.bars.filter(({ key }) => models.some((model) => model.values[key]));
  const axis = el("div", { class: "rs-note rs-baraxis", "aria-hidden": "true" }, ...["0", "50", "100"].map((text) => el("span", { text })));
  const chart = el("div", { class: "rs-bars" }, ...known.flatMap(({ key, title }) => row(models, key, title)), el("span", {}), axis);
  const note = el("p", { class: "rs-note", text: about });
  const numbers = measures.all.map(({ key, title }) => [title, ...models.map((model) => spelled(model.values[key]))]);
  const whole = tableBox(table(["mean (95 % interval over queries), in %", ...models.map((model) => model.title)], numbers));
  return el("div", { class: "rs-stack" }, chart, note, fold("Numbers as a table", whole));
}

function row(models, key, name) {
  const height = LANE * models.length + 6;
  const words = models.map((model) => `${model.title} ${spelled(model.values[key])}`).join("; ");
  const grid = [0, 25, 50, 75, 100].map((at) => el("line", { class: "rs-barrule", x1: `${at}%`, x2: `${at}%`, y1: 0, y2: height }));
  const marks = models.flatMap((model, arm) => mark(model.values[key], arm));
  const svg = el("svg", { class: "rs-bar", height, width: "100%", role: "img", "aria-label": `${name}: ${words}` }, ...grid, ...marks);
  return [el("span", { class: "rs-barname", text: name }), svg];
}

function mark(value, arm) {
  if (!Number.isFinite(value?.mean)) return [];
  const y = 3 + LANE * (arm + 0.5);
  const at = (share) => `${(clamp(share, 0, 1) * 100).toFixed(2)}%`;
  const marked = `rs-barmark ${ink(arm)}`;
  const line = Number.isFinite(value.low) ? [el("line", { class: marked, x1: at(value.low), x2: at(value.high), y1: y, y2: y })] : [];
  return [...line, el("circle", { class: marked, cx: at(value.mean), cy: y, r: 4 })];
}

function spelled(value) {
  if (!value || !Number.isFinite(value.mean)) return "–";
  const part = (share) => (share * 100).toFixed(1);
  const interval = Number.isFinite(value.low) ? ` (${part(value.low)} to ${part(value.high)})` : "";
  return `${part(value.mean)}${interval}`;
}
