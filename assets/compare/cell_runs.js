// The runs behind a cell of the table: a dot per seed on the scale of its row's metric, and a way to each run.

import { el } from "../common/dom.js";
import { iconButton } from "../common/fields.js";
import { brief } from "../common/names.js";
import { ink } from "../common/palette.js";
import { toLive } from "../common/navigation.js";
import { colour, named, format, formatWithInterval } from "./reading.js";

export class CellRuns {
  constructor(tab, closed) {
    this.tab = tab;
    this.node = el("div", { class: "rs-panel rs-stack rs-tight rs-cellruns", hidden: true });
    this.close = iconButton("close", "Close", closed);
    this.node.addEventListener("keydown", (event) => event.key === "Escape" && closed());
  }

  /** `cell`: {row, metric}, or null for none. */
  show(cell, report) {
    this.node.hidden = !cell;
    if (!cell) return this.node.replaceChildren();
    const { row, metric } = cell;
    const number = row.cells[metric.key];
    const where = named(row.condition);
    const title = `${metric.title}: ${brief(row.variant, 120)}${where ? `, ${where}` : ""}`;
    const head = el("div", { class: "rs-flow rs-cellhead" }, el("h3", { text: title }), this.close);
    const values = number.values.filter(({ value }) => Number.isFinite(value)).sort((first, other) => first.seed - other.seed);
    const [low, high] = limits([number.low, number.high, ...values.map(({ value }) => value)]);
    const items = values.map((value) => this.item(value, row, metric, ([low, high]), report));
    const lacking = (row.missing ?? []).map((seed) => el("li", { class: "rs-flow rs-note", text: `seed ${seed}: no result` }));
    const covers = number.covers ? el("p", { class: "rs-note", text: number.covers }) : null;
    this.node.replaceChildren(head, el("p", { text: formatWithInterval(metric, number) }), el("ul", { class: "rs-seeds" }, ...items, ...lacking), ...(covers ? [covers] : []));
  }

  item({ seed, value, run, arm }, row, metric, [low, high], report) {
    const dot = el("span", { class: `rs-seeddot ${ink(colour(row))}` });
    dot.style.left = `${(100 * (value - low)) / (high - low)}%`;
    const title = report.byId.get(run)?.title ?? `run ${run}`;
    const open = el("button", { type: "button", class: "rs-act", text: "Open", "aria-label": `Open ${title}`, onclick: () => toLive(run, arm) });
    return el("li", {}, el("span", { class: "rs-note", text: `seed ${seed}` }), el("span", { class: "rs-seedtrack", "aria-hidden": "true" }, dot), el("span", { text: format(metric, value) }), open);
  }
}

function limits(values) {
  const known = values.filter((value) => Number.isFinite(value));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return high > low ? [low, high] : [low - 0.5, high + 0.5];
}
