// The state of the run that is viewed, and what can be done with it: pause, resume, stop. They show while it can be.

import { post } from "../common/api.js";
import { el, say } from "../common/dom.js";
import { button, Problem } from "../common/fields.js";
import { sentence } from "../common/status.js";

const ACTS = ["pause", "resume", "stop"];

export class Actions {
  constructor() {
    this.states = {}; // of the run in Live, and of the plan in Compare
    this.buttons = Object.fromEntries(ACTS.map((act) => [act, button(act[0].toUpperCase() + act.slice(1), () => this.act(act))]));
    this.line = el("p", { class: "rs-help rs-runstatus", role: "status" });
    this.said = el("p", { class: "rs-help", role: "status" });
    this.problem = new Problem();
    const row = el("div", { class: "rs-flow rs-actrow" }, ...Object.values(this.buttons));
    this.node = el("div", { class: "rs-stack rs-tight rs-actions" }, this.line, row, this.said, this.problem.node);
    this.node.hidden = true; // until there is a run
    for (const name of ["rankscope:state", "rankscope:viewed"]) window.addEventListener(name, ({ detail }) => this.follow(detail));
    window.addEventListener("rankscope:tab", ({ detail: { name, plans } }) => {
      this.node.classList.toggle("rs-away", !plans && name !== "live"); // elsewhere nobody asks how the run goes on
      this.turn(this.states[plans ? "plan" : "run"]);
    });
  }

  /** Live and Compare report every change of state. */
  follow(state) {
    this.states[state.told === undefined ? "run" : "plan"] = state;
    this.turn(state);
  }

  turn(state) {
    if (!state) return;
    const before = this.state;
    if (before && (before.id !== state.id || (before.phase !== state.phase && before.active))) { // what was said is done, or was about another run
      say(this.said, "");
      this.problem.say(null);
    }
    this.state = state;
    const acts = state.recorded ? [] : state.acts;
    for (const act of ACTS) this.buttons[act].hidden = !acts.includes(act);
    this.node.hidden = !acts.length && !this.said.textContent;
    say(this.line, state.told ?? sentence(state));
  }

  async act(action) {
    this.problem.say(null);
    try {
      const { said, problem } = await post("form/act", { id: window.rankscope.viewed(), action });
      say(this.said, said ?? "");
      this.problem.say(problem);
    } catch (error) {
      this.problem.say(error.message);
    }
  }
}
