// The runs of the plan: those without a result with their reason, and all others in a fold.

import { el, say } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { toLive } from "../common/navigation.js";

class Runs {
  constructor(tab) {
    this.tab = tab;
    this.title = el("h3", { text: "Runs without a result" });
    this.lost = el("ul", { class: "rs-stack rs-tight" });
    this.all = el("ul", { class: "rs-stack rs-tight" });
    this.rest = fold("", this.all);
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Runs" }, this.title, this.lost, this.rest);
  }

  show(part, report) {
    const { runs } = part;
    this.unfold(part, report);
    const lost = runs.filter((run) => run.lost);
    this.node.hidden = !runs.length;
    this.title.hidden = this.lost.hidden = !lost.length;
    this.lost.replaceChildren(...lost.map((run) => line(run, run.error)));
    this.all.replaceChildren(...runs.map((run) => line(run)));
    say(this.rest.querySelector("summary"), runs.length === 1 ? "1 run" : `All ${runs.length} runs`);
  }

  /** A plan that trains and has no result yet shows its runs at once: they can be watched. */
  unfold({ metrics }, { id, state }) {
    if (id === this.known) return;
    this.known = id;
    this.rest.open = state.moving && !metrics.length;
  }
}

function line(run, reason) {
  const title = el(run.there ? "button" : "span", run.there ? { type: "button", class: "rs-runlink", text: run.title, onclick: () => toLive(run.id) } : { text: run.title });
  return el("li", { class: "rs-planrun" }, title, el("span", { class: "rs-note rs-phase", "data-phase": run.phase, text: run.label ?? run.phase }), reason ? el("span", { class: "rs-note rs-why", text: reason }) : null);
}

export const RUNS = { name: "runs", make: (tab) => new Runs(tab) };
