// The report of a plan as the sections read it: rows with their values, pairs with their sentences, axes with places.

import { figure, grouped } from "../common/dom.js";

/** What the server sends (see explorer/tabs/compare/reports.py), with a row for every variant that is planned. */
export function read(report) {
  return { ...report, byId: new Map(report.runs.map((run) => [run.id, run])), parts: report.parts.map((part) => new Part(part, report.runs)) };
}

/** One table of a report, its verdicts and what was varied. */
class Part {
  constructor(part, runs) {
    Object.assign(this, part);
    const { table } = part;
    this.runs = runs.filter((run) => run.parts.includes(part.name));
    this.metrics = table?.metrics ?? [];
    this.pairs = table?.pairs ?? [];
    this.conclusions = table?.conclusions ?? [];
    this.notes = table?.notes ?? [];
    this.rows = rows(part, this.runs);
    this.conditions = distinct(this.rows.map((row) => row.condition)).sort(rising);
  }

  /** Rows under a condition, one as :func:`distinct` gives. */
  under(condition) {
    return this.rows.filter((row) => same(row.condition, condition));
  }

  /** What the verdicts in a metric under a condition come to; empty where nothing is compared. */
  conclusion(metric, condition) {
    return this.conclusions.find((conclusion) => conclusion.metric === metric && same(conclusion.condition, condition))?.words ?? "";
  }

  /** Verdicts on pairs in a metric under a condition. */
  verdicts(metric, condition) {
    return this.pairs.filter((pair) => pair.metric === metric && same(pair.condition, condition));
  }
}

/** A row per planned variant and condition: what the table has of it, its look, its runs and how many seeds there are. */
function rows(part, runs) {
  const looks = new Map(part.variants.map((variant) => [variant.title, variant]));
  const rows = new Map((part.table?.rows ?? []).map((row) => [text([row.variant, row.condition]), row]));
  const made = new Map();
  for (const run of runs) {
    for (const variant of run.variants) {
      const key = text([variant, run.condition]);
      if (!made.has(key)) made.set(key, { cells: {}, missing: [], ...rows.get(key), ...looks.get(variant), variant, condition: run.condition, runs: [], seeds: new Set() });
      made.get(key).runs.push(run);
      made.get(key).seeds.add(run.seed);
    }
  }
  const order = [...looks.keys()].sort((first, other) => looks.get(first).color - looks.get(other).color); // stable: as planned within a loss
  return [...made.values()].sort((first, other) => order.indexOf(first.variant) - order.indexOf(other.variant));
}

/** Different conditions in the order in which they come first. */
function distinct(conditions) {
  const known = new Map(conditions.map((condition) => [text(condition), condition]));
  return [...known.values()];
}

/** Orders conditions by their numbers; what is no number stays in its place. */
function rising(first, other) {
  for (const [name, value] of Object.entries(first)) {
    const apart = value - other[name];
    if (apart) return apart;
  }
  return 0;
}

export const same = (first, other) => text(first) === text(other);
const text = (value) => JSON.stringify(value);

/** "noise 0.2, batch 64"; empty where nothing is varied. */
export const named = (condition) => Object.entries(condition).map(([name, value]) => `${name} ${shown(value)}`).join(", ");

/** A value of an axis, rounded as far as it is told apart. */
export const shown = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value));

/** A number of a metric: per cent for shares. */
export function format(metric, value) {
  if (value === null || value === undefined) return "–";
  if (metric.unit === "share") return (100 * value).toFixed(1).replace("-", "−");
  if (metric.unit === "count") return grouped(value);
  return figure(value).replace("-", "−");
}

const ARROWS = { up: " ↑", down: " ↓" };

/** The heading of a metric: its name, the better direction and the unit. */
export const heading = (metric) => `${metric.short ?? metric.title}${ARROWS[metric.better] ?? ""}${metric.unit === "share" ? ", %" : ""}`;

/** "62.1 ± 0.4 [61.3, 62.9]". */
export function formatWithInterval(metric, cell) {
  if (cell?.mean === null || cell?.mean === undefined) return "no result";
  const spread = cell.spread === null ? "" : ` ± ${format(metric, cell.spread)}`;
  return `${format(metric, cell.mean)}${spread}${interval(metric, cell)}`;
}

export const interval = (metric, cell) => (cell.low === null || cell.low === undefined ? "" : ` [${format(metric, cell.low)}, ${format(metric, cell.high)}]`);

/** The place of a row's colour among those of arms. */
export const colour = (row) => (row.color ?? 0) % 6;
