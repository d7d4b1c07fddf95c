// What the images show without training, beside the losses: what that says of the run at its top, rows of numbers, and lines for
// the curves.

import { post } from "../common/api.js";
import { el, figure, say, swatch } from "../common/dom.js";
import { button } from "../common/fields.js";
import { brief, capital } from "../common/names.js";
import { tableBox } from "../common/table.js";
import { Task } from "../common/task.js";

const MOVING = "Those that are lacking are made when the training has ended, where that is quick.";

export class Untrained {
  /** `changed()` when there are other rows; `failed(sentence)` when they cannot be made. */
  constructor(changed, failed) {
    Object.assign(this, { changed, failed, rows: [] });
    this.findings = el("ul", { class: "rs-findings", "aria-label": "What the numbers say of this run", hidden: true });
    this.table = tableBox();
    this.note = el("p", { class: "rs-note" });
    this.make = button("Read them now", () => this.ask());
    this.task = new Task("scoring", "It was stopped.");
    const about = el("div", { class: "rs-flow" }, this.note, this.make, this.task.node);
    this.node = el("section", { class: "rs-panel rs-untrained", "aria-label": "Without training", hidden: true }, el("h3", { text: "Without training" }), this.table, about);
  }

  empty() {
    Object.assign(this, { run: null, rows: [], told: "" });
    this.findings.hidden = this.node.hidden = true;
    this.table.replaceChildren();
  }

  load(run) {
    this.run = run;
    this.take(run.untrained, run.moving);
  }

  /** `untrained`: as the server sends it; `moving`: the run trains, or will. */
  take(untrained, moving) {
    const told = JSON.stringify([untrained, moving, this.run.points > 0]);
    if (told === this.told) return;
    this.told = told;
    this.rows = untrained.rows;
    this.findings.replaceChildren(...untrained.findings.map(({ sentence }) => el("li", { text: sentence })));
    this.findings.hidden = !untrained.findings.length;
    const lacking = untrained.lacking.map(({ name, why }) => (moving ? MOVING : `${capital(name)}: ${why}`));
    const on = this.keys(true).length ? "On the images of the maps." : `On ${untrained.scored_on}.`;
    const whole = /choice/.test(untrained.scored_on) ? ` The verdict at the end is on ${untrained.scored_on}.` : "";
    say(this.note, this.rows.length ? [`${on}${whole}`, ...new Set(lacking)].join(" ") : moving ? "" : untrained.why);
    const able = !this.run.recorded && !this.run.read_only && !moving && this.run.points > 0;
    this.make.hidden = !able || (this.rows.length > 0 ? !lacking.length : !untrained.why || untrained.why.includes("brought"));
    this.node.hidden = !this.rows.length && !this.note.textContent;
    this.changed();
  }

  /** The numbers of the cards that the rows have too: of the images of the maps, or of the test set. */
  keys(ofMaps) {
    const { numbers, test } = this.run.measures;
    return numbers.filter(({ key }) => this.rows.some((row) => (ofMaps ? key : test + key) in row.numbers));
  }

  /** Lines for the curve of a number: {title, value}. */
  lines(key) {
    return this.rows.filter((row) => key in row.numbers).map((row) => ({ title: row.title.replace(/ of .*/, ""), value: row.numbers[key] }));
  }

  /** `at(key, arm)`: the number of a loss at the step that is shown. */
  show(at) {
    if (!this.run || !this.rows.length) return this.table.replaceChildren();
    const ofMaps = this.keys(true).length > 0;
    const prefix = ofMaps ? "" : this.run.measures.test;
    const keys = this.keys(ofMaps);
    const cells = (value) => keys.map(({ key }) => el("td", { text: figure(value(prefix + key)) }));
    const head = el("tr", {}, el("th", { scope: "col" }), ...keys.map(({ short, sentence }) => el("th", { scope: "col", text: short, title: sentence })));
    const losses = this.run.arms.map(({ title }, arm) => el("tr", {}, el("th", { scope: "row" }, el("span", { class: "rs-flow" }, swatch(arm), el("span", { text: brief(title) }))), ...cells((key) => at(key, arm))));
    const rows = this.rows.map((row) => el("tr", { class: "rs-untrainedrow", title: row.sentence }, el("th", { scope: "row", text: brief(row.title) }), ...cells((key) => row.numbers[key])));
    const now = JSON.stringify([losses, rows].flat().map((row) => row.textContent));
    if (now === this.shown && this.table.children.length) return;
    this.shown = now;
    this.table.replaceChildren(el("table", { class: "rs-table" }, el("thead", {}, head), el("tbody", {}, ...losses, ...rows)));
  }

  async ask() {
    const { run } = this;
    this.make.disabled = true;
    try {
      const untrained = await this.task.answer(await post(`run/${run.id}/untrained`, {}));
      if (run.id === this.run?.id) this.take(untrained, false);
    } catch (error) {
      this.failed(error.message);
    } finally {
      this.make.disabled = false;
    }
  }
}
