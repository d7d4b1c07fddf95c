// The table: a row per variant under each condition, a column per chosen metric; each cell opens to the runs behind it.

import { tableUrl } from "../common/api.js";
import { el, say, swatch } from "../common/dom.js";
import { checkbox, fold } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { CellRuns } from "./cell_runs.js";
import { colour, heading, named, same, format, formatWithInterval } from "./reading.js";

class Table {
  constructor(tab) {
    this.tab = tab;
    this.opened = null; // {variant, condition, metric} of the cell that is open
    this.box = el("div", { class: "rs-tablebox", tabindex: "0", role: "region", "aria-label": "Results" });
    this.values = new CellRuns(tab, () => this.open(null));
    this.boxes = el("div", { class: "rs-flow rs-metricboxes", role: "group", "aria-label": "Metrics of the table" });
    this.latex = el("a", { class: "rs-act", download: "", text: "LaTeX of this table" });
    this.choice = fold("", this.boxes);
    this.notes = el("ul", { class: "rs-note rs-stack rs-tight" });
    this.node = el("section", { class: "rs-stack", "aria-label": "Results" }, this.box, this.values.node, el("div", { class: "rs-flow rs-tablefoot" }, this.choice, this.latex), this.notes);
  }

  show(part, report) {
    Object.assign(this, { part, report });
    this.node.hidden = !part.rows.length;
    this.offer();
    this.draw();
  }

  /** The metrics to choose from: the main ones at first. */
  offer() {
    const keys = this.part.metrics.map((metric) => metric.key);
    const offered = JSON.stringify(keys);
    if (offered === this.offered) return;
    this.offered = offered;
    this.chosen = new Set(this.part.metrics.filter((metric) => metric.main).map((metric) => metric.key));
    const all = checkbox("All", this.chosen.size === keys.length, () => {
      this.chosen = new Set(all.input.checked ? keys : this.part.metrics.filter((metric) => metric.main).map((metric) => metric.key));
      for (const { key, input } of boxes) input.checked = this.chosen.has(key);
      this.draw();
    });
    const boxes = this.part.metrics.map((metric) => {
      const box = checkbox(metric.title, this.chosen.has(metric.key), () => {
        if (box.input.checked) this.chosen.add(metric.key);
        else this.chosen.delete(metric.key);
        all.input.checked = this.chosen.size === keys.length;
        this.draw();
      });
      return { key: metric.key, ...box };
    });
    this.boxes.replaceChildren(all.node, ...boxes.map((box) => box.node));
    this.choice.hidden = keys.length <= this.chosen.size;
  }

  draw() {
    const { part, report } = this;
    this.metrics = part.metrics.filter((metric) => this.chosen.has(metric.key));
    say(this.choice.querySelector("summary"), `${this.metrics.length} of ${part.metrics.length} metrics`);
    this.latex.hidden = !this.metrics.length;
    this.latex.href = tableUrl(report.id, part.name, this.metrics.map((metric) => metric.key));
    const focused = document.activeElement?.dataset?.cell;
    const head = el("tr", {}, el("th", { scope: "col", text: "Variant" }), ...this.metrics.map((metric) => el("th", { scope: "col", text: heading(metric), title: metric.sentence })), el("th", { scope: "col", text: "Seeds" }));
    const groups = part.conditions.map((condition) => this.group(condition));
    this.box.replaceChildren(el("table", { class: "rs-table rs-results" }, el("caption", { class: "rs-unseen", text: part.title || report.title }), el("thead", {}, head), ...groups));
    if (focused) this.box.querySelector(`[data-cell="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const words = [part.table && `${part.table.caption} Press a number for its interval and its seeds.`, ...part.notes].filter(Boolean);
    this.notes.replaceChildren(...words.map((text) => el("li", { text })));
    this.detail();
  }

  group(condition) {
    const title = named(condition);
    const head = title ? [el("tr", { class: "rs-condition" }, el("th", { scope: "rowgroup", colspan: this.metrics.length + 2, text: title }))] : [];
    return el("tbody", {}, ...head, ...this.part.under(condition).map((row) => this.row(row)));
  }

  row(row) {
    const counts = [...new Set(Object.values(row.cells).map((cell) => cell.seeds.length))].sort((a, b) => a - b);
    const variant = el("th", { scope: "row" }, el("span", { class: "rs-flow rs-variant" }, swatch(colour(row)), el("span", { class: "rs-clamp", text: brief(row.variant, 120), title: inFull(row.variant) })));
    const cells = this.metrics.map((metric) => el("td", {}, this.cell(row, metric)));
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
    return el("button", { type: "button", class: "rs-cell", "data-cell": id, "aria-label": about, "aria-expanded": String(this.isOpen(row, metric)), onclick: () => this.open(this.isOpen(row, metric) ? null : { row, metric }) }, el("span", {}, number, spread));
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
    const row = at && this.part.rows.find((row) => row.variant === at.variant && same(row.condition, at.condition));
    const metric = at && this.part.metrics.find((metric) => metric.key === at.metric);
    this.values.show(row && metric ? { row, metric } : null, this.report);
  }
}

export const TABLE = { name: "table", make: (tab) => new Table(tab) };
