// Training on ZeroGPU: for the run that is viewed, and is this visitor's, the page asks for one slice after another. A
// GPU is lent to whoever asks, so that it counts towards their quota.

import { token } from "../common/api.js";
import { el, say } from "../common/dom.js";
import { button, Problem } from "../common/fields.js";

const LATER = 2000; // ms between two questions, and before one that was not answered is asked again
const ANSWERED = 15 * 60_000;

export function mount(element, { ask }) {
  new Slices(element.querySelector(".rs-slices"), ask);
}

class Slices {
  constructor(host, ask) {
    this.send = ask;
    this.asked = null; // id of the run, and when
    this.next = 0;
    this.refused = null; // id of the run that got no GPU
    this.problem = new Problem();
    this.again = button("Try again", () => this.retry());
    this.cpu = button("Go on on the CPU", () => this.goOnOnCpu());
    this.offers = el("div", { class: "rs-flow rs-actrow", hidden: true }, this.again, this.cpu);
    this.said = el("p", { class: "rs-help", role: "status" });
    host.classList.add("rs-stack", "rs-tight");
    host.replaceChildren(this.problem.node, this.said, this.offers);
    for (const name of ["rankscope:state", "rankscope:viewed"]) window.addEventListener(name, ({ detail }) => this.follow(detail));
    window.addEventListener("rankscope:slice", ({ detail }) => this.answered(detail));
  }

  /** Live and Compare report every change of the run or plan that is viewed, and every answer to a poll. */
  follow(state) {
    const waits = state.phase === "between slices" || (state.told !== undefined && state.moving);
    if (this.refused && (this.refused !== state.id || state.active)) this.clear();
    if (!waits || state.recorded || this.refused === state.id || this.over === state.id) {
      if (this.over === state.id && !waits) this.over = null; // it may be resumed, and wait again
      return;
    }
    const now = performance.now();
    if (now < this.next || (this.asked && now < this.asked.at + ANSWERED)) return;
    this.question(state.id);
  }

  question(id, cpu = false) {
    this.asked = { id, at: performance.now() };
    this.send(id, token(), cpu);
  }

  answered({ id, said, wait, refused, over }) {
    this.asked = null;
    this.next = performance.now() + LATER;
    if (!id || wait) return;
    if (over) this.over = id;
    this.refused = refused ? id : null;
    this.offers.hidden = !refused;
    this.problem.say(refused ? said : null);
    say(this.said, refused ? "" : (said ?? ""));
  }

  clear() {
    this.refused = null;
    this.offers.hidden = true;
    this.problem.say(null);
    say(this.said, "");
  }

  retry() {
    const id = this.refused;
    this.clear();
    this.question(id);
  }

  goOnOnCpu() {
    const id = this.refused;
    this.clear();
    this.question(id, true);
  }
}
