// Opening a comparison that somebody has pushed to the Hub, by its id.

import { el } from "../common/dom.js";
import { fold, Problem, rowForm, text } from "../common/fields.js";
import * as hub from "../common/hub.js";
import { Task } from "../common/task.js";

const STOPPED = "It was stopped. Open it again.";

export class HubOpening {
  /** `opened(id)`: of the plan that the comparison has become here. */
  constructor(opened) {
    this.opened = opened;
    this.name = text("owner/name", { "aria-label": "Comparison on the Hub", autocapitalize: "off" });
    this.form = rowForm([this.name], "Open", () => this.open(this.name.value.trim()));
    this.task = new Task(hub.JOBS, STOPPED);
    this.problem = new Problem();
    const about = el("p", { class: "rs-note", text: "Numbers that somebody has pushed with Push to the Hub. Tables and verdicts are computed here; nothing is trained." });
    this.node = fold("Open from the Hub", about, this.form, this.task.node, this.problem.node);
    this.node.classList.add("rs-hubopening");
  }

  async open(name) {
    this.name.value = name;
    this.node.open = true;
    this.problem.say(null);
    this.task.stop(); // what was opened before it, if anything
    const turn = (this.turn = {});
    try {
      const { id } = await this.task.answer(await hub.open(name));
      if (turn !== this.turn) return;
      this.node.open = false;
      this.opened(id);
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    }
  }
}
