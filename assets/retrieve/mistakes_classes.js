// How often results are of their query's class, by class: found by name, else those first that lack most.

import { el, grouped, say } from "../common/dom.js";
import { choose, field, Problem, select, text } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { tableBox } from "../common/table.js";
import { reachable } from "./mistakes_confusions.js";
import { share } from "../common/severity_colours.js";
import * as api from "./api.js";

const TYPED = 250; // ms without a key before the classes are searched
const SHOWN = 12;

/** `open(example, answer)`: show the rows of a class's worst query. */
export class MistakesByClass {
  constructor(open) {
    this.open = open;
    this.words = text("Any class", { type: "search", oninput: () => this.typed() });
    this.level = select(() => this.ask());
    this.problem = new Problem();
    this.said = el("p", { class: "rs-note", role: "status" });
    this.box = tableBox();
    this.files = el("p", { class: "rs-flow rs-note" });
    const form = el("div", { class: "rs-flow rs-form" }, field("Class", this.words), field("Level", this.level, { class: "rs-field rs-short" }));
    this.node = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "By class" }, el("h3", { text: "By class" }), form, this.problem.node, this.said, this.box, this.files);
  }

  /** `asked`: {run, home, k, step} of the run whose classes are listed; `beside`: whether there are others. */
  load(asked, levels, beside) {
    const fresh = this.asked?.run !== asked.run;
    this.asked = asked;
    this.whose = beside ? "Of the run that is open in Live. " : "";
    if (fresh) choose(this.level, [{ name: "", title: "All levels" }, ...levels.map((title, at) => ({ name: String(at), title: brief(title) }))], "0");
    return this.ask();
  }

  typed() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.ask(), TYPED);
  }

  get wanted() {
    return { ...this.asked, level: this.level.value === "" ? null : Number(this.level.value), text: this.words.value.trim() };
  }

  async ask() {
    const turn = (this.turn = {});
    try {
      const answer = await api.mistakes("classes", { ...this.wanted, count: SHOWN });
      if (turn !== this.turn) return;
      this.problem.say(null);
      this.show(answer);
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    }
  }

  draw() {}

  drop() {
    this.box.replaceChildren();
  }

  show(answer) {
    this.draw = () => this.show(answer);
    const { total, classes } = answer;
    const named = this.words.value.trim();
    say(this.said, total ? `${this.whose}${grouped(total)} ${total === 1 ? "class" : "classes"}${total > classes.length ? `, ${classes.length} shown` : ""}; ${named ? "as they are named" : "those first that lack most"}. Press one to see the results of its worst query.` : `No class with queries has “${brief(named, 40)}” in its name.`);
    this.box.hidden = !total;
    const several = `first ${answer.k}`;
    const head = ["Class", "Level", "Queries", ...answer.arms.flatMap((title) => [`${brief(title)}: first result of it`, several]), `${several}, at best`];
    const rows = classes.map((cls) => el("tr", {}, el("th", { scope: "row" }, this.name(cls, answer)), ...[brief(cls.level), grouped(cls.queries), ...cls.arms.flatMap((arm) => [share(arm.own1), share(arm.own)]), share(cls.best)].map((cell) => el("td", { text: cell }))));
    this.box.replaceChildren(el("table", { class: "rs-table rs-classtable" }, el("thead", {}, el("tr", {}, ...head.map((cell) => el("th", { scope: "col", text: cell })))), el("tbody", {}, ...rows)));
    this.files.replaceChildren(el("a", { href: api.mistakesUrl("classes", this.wanted), download: "", text: "Classes as CSV" }));
  }

  name(listed, answer) {
    return el("button", { type: "button", class: "rs-linkbutton", text: brief(listed.name), title: inFull(listed.name), disabled: !reachable(listed, answer), onclick: () => this.open(listed, answer) });
  }
}
