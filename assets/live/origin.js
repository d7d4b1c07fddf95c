// What a run belongs to: the way to the plan that it is part of, or to making one from its settings.

import { el } from "../common/dom.js";
import { toPlan } from "./page_api.js";

export class Origin {
  constructor() {
    this.run = null;
    this.button = el("button", { type: "button", class: "rs-act", onclick: () => this.go() });
    this.node = el("p", { class: "rs-origin", hidden: true }, this.button);
    window.addEventListener("rankscope:plans", () => this.run && this.show(this.run));
  }

  show(run) {
    this.run = run;
    const offered = !run.part_of && window.rankscopePlans?.offered(run.kind);
    this.node.hidden = !run.part_of && !offered;
    this.node.toggleAttribute("data-offers", !run.part_of);
    this.button.textContent = run.part_of ? "Its comparison" : "Make it a sweep";
    this.button.title = run.part_of ? "This run is part of a comparison: open it" : "Fill the form with the settings of this run, to train it over several seeds";
  }

  go() {
    if (this.run.part_of) toPlan(this.run.part_of);
    else window.rankscope.sweep?.(this.run.id);
  }
}
