// The Runs tab: a table of runs that sorts and filters, refreshed while it is visible; each row is updated in place.

import * as api from "../common/api.js";
import { el, say } from "../common/dom.js";
import { Problem, text } from "../common/fields.js";
import { Poll } from "../common/poll.js";
import { Row } from "./row.js";

/** `act(action, id, token)` asks the server; `public`: only a run's owner may change it. */
export function mount(element, options) {
  const host = element.querySelector(".rs-runs") ?? element;
  if (!host.rankscope) host.rankscope = new Runs(host, options);
}

/** Columns beside the numbers: what they are sorted by. */
const COLUMNS = [
  { key: "name", title: "Run", value: (run) => (run.name || run.title).toLowerCase() },
  { key: "losses", title: "Trained", value: (run) => run.losses.join().toLowerCase() },
];
const LATER = [
  { key: "phase", title: "State", value: (run) => run.label },
  { key: "step", title: "Steps", value: (run) => run.step },
  { key: "created", title: "Started", value: (run) => run.id },
];

class Runs {
  constructor(host, { act, public: shared }) {
    Object.assign(this, { act, shared, rows: new Map(), runs: [], sort: null, opened: new Set() });
    this.empty = el("p", { class: "rs-empty", hidden: true });
    this.lost = el("p", { class: "rs-note rs-lost", role: "status" });
    this.problem = new Problem();
    this.filter = text("Filter by name, tag, loss or images", { "aria-label": "Filter the runs" });
    this.filter.addEventListener("input", () => this.draw());
    this.count = el("span", { class: "rs-note", role: "status" });
    const csv = el("a", { class: "rs-act", href: api.runsUrl(), download: "", text: "CSV" });
    this.tools = el("div", { class: "rs-flow rs-runtools" }, this.filter, this.count, csv);
    this.head = el("tr", {});
    this.table = el("table", { class: "rs-table rs-runlist" }, el("caption", { class: "rs-unseen", text: "Runs" }), el("thead", {}, this.head));
    this.box = el("div", { class: "rs-tablebox", tabindex: "0", role: "region", "aria-label": "Runs" }, this.table);
    host.replaceChildren(this.problem.node, this.lost, this.empty, this.tools, this.box);
    const showError = (error) => this.problem.say(error && `The list could not be read: ${error.message} Trying again.`);
    this.poll = new Poll(() => this.read(), showError, host);
    window.addEventListener("rankscope:changed", () => this.poll.schedule(0));
    this.poll.start();
  }

  async read() {
    const { runs, lost } = await api.runs();
    this.runs = runs;
    say(this.lost, lost);
    say(this.empty, `No run yet. Choose images and losses in the sidebar, then press Train: the run appears here${lost ? "." : " and stays until you delete it."}`);
    this.draw();
  }

  draw() {
    this.empty.hidden = this.runs.length > 0;
    this.tools.hidden = this.box.hidden = !this.runs.length;
    const ids = new Set(this.runs.map((run) => run.id));
    for (const [id, row] of this.rows) {
      if (ids.has(id)) continue;
      row.node.remove();
      this.rows.delete(id);
    }
    this.columns();
    const plans = new Set(this.runs.filter((run) => run.plans && !run.part_of).map((run) => run.id)); // those that can be read
    const members = new Map(); // the runs of each plan
    for (const run of this.runs) if (plans.has(run.part_of)) members.set(run.part_of, [...(members.get(run.part_of) ?? []), run]);
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (run) => words.every((word) => sought(run).includes(word));
    const shown = [];
    const first = this.sorted(this.runs.filter((run) => !plans.has(run.part_of)));
    for (const run of first) {
      const within = members.get(run.id) ?? [];
      const fitting = within.filter(fits);
      if (!fits(run) && !fitting.length) continue;
      shown.push([run, within]);
      const all = fits(run) ? within : fitting;
      if (this.opened.has(run.id) || (words.length && !fits(run))) for (const one of this.sorted(all)) shown.push([one, []]);
    }
    say(this.count, words.length ? `${shown.length} of ${this.runs.length}` : `${this.runs.length} runs`);
    this.place(shown);
  }

  place(shown) {
    const wanted = new Set(shown.map(([run]) => run.id));
    for (const [id, row] of this.rows) if (!wanted.has(id)) row.node.remove();
    shown.forEach(([run, within], at) => {
      if (!this.rows.has(run.id)) this.rows.set(run.id, new Row(this));
      const row = this.rows.get(run.id);
      row.show(run, within, this.numbers);
      const there = this.table.tBodies[at];
      if (there !== row.node) this.table.insertBefore(row.node, there ?? null);
    });
  }

  /** The headings: a button each that sorts, once more the other way round. */
  columns() {
    const known = new Map(this.runs.flatMap((run) => run.headline).map((number) => [number.key, number]));
    this.numbers = [...known.values()].map(({ key, title, better }) => ({ key, title, value: (run) => best(run, key, better) }));
    const all = [...COLUMNS, ...this.numbers, ...LATER];
    const text = JSON.stringify([all.map(({ key }) => key), this.sort]);
    if (text === this.headed) return;
    const focused = document.activeElement?.dataset?.column;
    this.headed = text;
    this.head.replaceChildren(...all.map((column) => this.heading(column)), el("th", { scope: "col" }, el("span", { class: "rs-unseen", text: "Actions" })));
    if (focused) this.head.querySelector(`[data-column="${CSS.escape(focused)}"]`)?.focus();
  }

  heading(column) {
    const sorted = this.sort?.key === column.key;
    const mark = sorted ? (this.sort.up ? " ▲" : " ▼") : "";
    const press = el("button", { type: "button", class: "rs-sort", "data-column": column.key, text: `${column.title}${mark}`, onclick: () => this.by(column) });
    return el("th", { scope: "col", "aria-sort": sorted ? (this.sort.up ? "ascending" : "descending") : "none" }, press);
  }

  by(column) {
    const text = ["name", "losses", "phase"].includes(column.key);
    this.sort = this.sort?.key === column.key ? { key: column.key, up: !this.sort.up } : { key: column.key, up: text };
    this.draw();
  }

  sorted(runs) {
    if (!this.sort) return runs; // newest first, as they come
    const { value } = [...COLUMNS, ...this.numbers, ...LATER].find(({ key }) => key === this.sort.key) ?? LATER.at(-1);
    const known = (run) => value(run) !== null;
    const order = (one, other) => (value(one) < value(other) ? -1 : value(one) > value(other) ? 1 : 0) * (this.sort.up ? 1 : -1);
    return [...runs.filter(known).sort(order), ...runs.filter((run) => !known(run))];
  }

  toggle(id) {
    if (!this.opened.delete(id)) this.opened.add(id);
    this.draw();
  }
}

const sought = (run) => [run.name, run.title, run.summary, run.data, run.label, run.note, ...run.tags, ...run.losses].join(" ").toLowerCase();

/** The best number of a run's arms; null for none. */
function best(run, key, better) {
  const values = (run.headline.find((number) => number.key === key)?.values ?? []).filter(Number.isFinite);
  if (!values.length) return null;
  return better === "down" ? Math.min(...values) : Math.max(...values);
}
