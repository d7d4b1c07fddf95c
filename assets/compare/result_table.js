// The table: a row per variant under each condition, a column per metric; each cell opens to the runs behind it.

import { el, swatch } from "../common/dom.js";
import { brief, inFull } from "../common/names.js";
import { CellRuns } from "./cell_runs.js";
import { colour, heading, interval, named, same, format, formatWithInterval } from "./reading.js";

class Table {
  constructor(tab) {
    this.tab = tab;
    this.opened = null; // {variant, condition, metric} of the cell that is open
    this.box = el("div", { class: "rs-tablebox", tabindex: "0", role: "region", "aria-label": "Results" });
    this.values = new CellRuns(tab, () => this.open(null));
    this.notes = el("ul", { class: "rs-note rs-stack rs-tight" });
    this.node = el("section", { class: "rs-stack", "aria-label": "Results" }, this.box, this.values.node, this.notes);
  }

  show(part, report) {
    Object.assign(this, { part, report });
    this.node.hidden = !part.rows.length;
    const focused = document.activeElement?.dataset?.cell;
    const head = el("tr", {}, el("th", { scope: "col", text: "Variant" }), ...part.metrics.map((metric) => el("th", { scope: "col", text: heading(metric), title: metric.sentence })), el("th", { scope: "col", text: "Seeds" }));
    const groups = part.conditions.map((condition) => this.group(condition));
    this.box.replaceChildren(el("table", { class: "rs-table rs-results" }, el("caption", { class: "rs-unseen", text: part.title || report.title }), el("thead", {}, head), ...groups));
    if (focused) this.box.querySelector(`[data-cell="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const words = [part.table?.caption, ...part.notes].filter(Boolean);
    this.notes.replaceChildren(...words.map((text) => el("li", { text })));
    this.detail();
  }

  group(condition) {
    const title = named(condition);
    const head = title ? [el("tr", { class: "rs-condition" }, el("th", { scope: "rowgroup", colspan: this.part.metrics.length + 2, text: title }))] : [];
    return el("tbody", {}, ...head, ...this.part.under(condition).map((row) => this.row(row)));
  }

  row(row) {
    const counts = [...new Set(Object.values(row.cells).map((cell) => cell.seeds.length))].sort((a, b) => a - b);
    const variant = el("th", { scope: "row" }, el("span", { class: "rs-flow rs-variant" }, swatch(colour(row)), el("span", { class: "rs-clamp", text: brief(row.variant, 120), title: inFull(row.variant) })));
    const cells = this.part.metrics.map((metric) => el("td", {}, this.cell(row, metric)));
    const seeds = counts.length > 1 ? `${counts[0]}–${counts.at(-1)}` : String(counts[0] ?? 0);
    return el("tr", {}, variant, ...cells, el("td", { class: "rs-note", text: `${seeds} of ${row.seeds.size}` }));
  }

  cell(row, metric) {
    const cell = row.cells[metric.key];
    if (cell?.mean === null || cell?.mean === undefined) return el("span", { class: "rs-note", text: this.pending(row) });
    const id = JSON.stringify([row.variant, row.condition, metric.key]);
    const about = `${metric.title} of ${row.variant}: ${formatWithInterval(metric, cell)}${cell.best ? ", best" : ""}. Show its runs`;
    const number = el("span", { class: `rs-mean${cell.best ? " rs-best" : ""}`, text: format(metric, cell.mean) });
    const spread = cell.spread === null ? null : el("span", { class: "rs-spread", text: ` ± ${format(metric, cell.spread)}` });
    const range = el("span", { class: "rs-note rs-interval", text: interval(metric, cell).trim() });
    return el("button", { type: "button", class: "rs-cell", "data-cell": id, "aria-label": about, "aria-expanded": String(this.isOpen(row, metric)), onclick: () => this.open(this.isOpen(row, metric) ? null : { row, metric }) }, el("span", {}, number, spread), range);
  }

  /** Why a cell is empty. */
  pending(row) {
    if (row.runs.some((run) => run.trains)) return "trains";
    return row.runs.every((run) => run.ended) ? "–" : "waits";
  }

  isOpen(row, metric) {
    return this.opened !== null && this.opened.metric === metric.key && this.opened.variant === row.variant && same(this.opened.condition, row.condition);
  }

  open(at) {
    const before = this.box.querySelector('[aria-expanded="true"]');
    before?.setAttribute("aria-expanded", "false");
    this.opened = at && { variant: at.row.variant, condition: at.row.condition, metric: at.metric.key };
    if (at) this.box.querySelector(`[data-cell="${CSS.escape(JSON.stringify([at.row.variant, at.row.condition, at.metric.key]))}"]`)?.setAttribute("aria-expanded", "true");
    else before?.focus();
    this.detail();
  }

  detail() {
    const at = this.opened;
    const row = at && this.part.rows.find((one) => one.variant === at.variant && same(one.condition, at.condition));
    const metric = at && this.part.metrics.find((one) => one.key === at.metric);
    this.values.show(row && metric ? { row, metric } : null, this.report);
  }
}

export const TABLE = { name: "table", make: (tab) => new Table(tab) };
