// What makes a plan of the runs that the form describes: its seeds, what is varied, and how many runs that is.

import { el, say } from "../common/dom.js";
import { Problem, text } from "../common/fields.js";
import { labelled, PLAIN } from "./controls.js";

const MOST = 6;
const WAIT = 300; // ms after the last change until the runs are counted

export class Plan {
  /** `on`: {changed(), count() -> promise of {axes, said, problem}}. */
  constructor(on) {
    this.on = on;
    this.fields = el("div", { class: "rs-fields" });
    this.rows = el("div", { class: "rs-fields" });
    this.help = el("p", { class: "rs-help", text: "Vary: a setting, or a parameter of a loss. Runs are trained with each of its values." });
    this.axes = el("datalist", { id: "rs-axes" });
    this.said = el("p", { class: "rs-help", role: "status" });
    this.problem = new Problem();
    this.tooLarge = new Problem(); // of a single run, beside Train
    this.title = el("h2", {});
    this.node = el("section", { class: "rs-section rs-plan", hidden: true }, this.title, this.fields, this.rows, this.help, this.axes, this.said, this.problem.node);
  }

  /** Show the fields of a plan; null: none. `state`: {own, vary}. */
  show(plan, state) {
    this.plan = plan;
    this.node.hidden = !plan;
    if (!plan) return this.count();
    say(this.title, plan.title);
    this.own = { ...Object.fromEntries(plan.fields.map(({ name, default: first }) => [name, first])), ...state.own };
    this.vary = state.vary.length ? state.vary : [["", ""]];
    this.fields.replaceChildren(...plan.fields.map((field) => labelled(field, PLAIN[field.control](field, this.own[field.name], (value) => {
      this.own[field.name] = value;
      this.changed();
    }))));
    this.draw();
    this.count();
  }

  /** The values of a plan's fields, of those it has. */
  get values() {
    if (!this.plan) return { plan: "", own: {}, vary: [] };
    return { plan: this.plan.name, own: this.own, vary: this.vary.filter((row) => row.some(Boolean)) };
  }

  draw() {
    this.rows.replaceChildren(...this.vary.map(([axis, values], i) => {
      const what = text("Nothing", { value: axis, list: "rs-axes", "aria-label": i ? `Vary ${i + 1}` : "Vary", onchange: (event) => this.write(i, 0, event.target) });
      const tried = text("Values, e.g. 0.1, 0.2, 0.5", { value: values, "aria-label": `Values ${i + 1}`, onchange: (event) => this.write(i, 1, event.target) });
      return el("div", { class: "rs-formfield" }, el("span", { class: "rs-fieldlabel", "aria-hidden": "true", text: i ? "And vary" : "Vary" }), what, tried);
    }));
  }

  write(i, part, { value }) {
    this.vary[i][part] = value.trim();
    const last = this.vary.at(-1);
    if (last.every(Boolean) && this.vary.length < MOST) {
      this.vary.push(["", ""]);
      const { activeElement: focus } = document;
      this.draw();
      if (!focus?.isConnected) this.rows.querySelectorAll("input")[2 * i + part]?.focus();
    }
    this.changed();
  }

  changed() {
    this.on.changed();
    this.count();
  }

  /** Count the runs, or ask whether a single one may be started, once nothing has changed for a while. */
  count() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), WAIT);
  }

  async ask() {
    this.asked = (this.asked ?? 0) + 1;
    const turn = this.asked;
    const reply = await this.on.count().catch((error) => ({ problem: error.message }));
    if (turn !== this.asked) return;
    say(this.said, reply.said ?? "");
    this.problem.say(this.plan && reply.problem);
    this.tooLarge.say(!this.plan && reply.problem);
    if (reply.axes) this.axes.replaceChildren(...reply.axes.map(([value, label]) => el("option", { value, label })));
  }
}
