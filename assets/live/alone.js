// The plan that a run is part of, or what it does not show alone: a sentence once it is finished, and the way to a sweep.

import { el, say } from "../common/dom.js";
import { button } from "../common/fields.js";
import { toPlan } from "../common/navigation.js";

export class Origin {
  constructor() {
    this.node = button("Its comparison", () => toPlan(this.run.part_of));
    Object.assign(this.node, { hidden: true, title: "This run is part of a comparison: open it" });
  }

  show(run) {
    this.run = run;
    this.node.hidden = !run.part_of;
  }
}

export class Alone {
  constructor() {
    this.words = el("span", {});
    this.node = el("p", { class: "rs-flow rs-note rs-alone-run", hidden: true }, this.words, el("button", { type: "button", class: "rs-textbutton", text: "Make it a sweep", onclick: () => window.rankscopeSweep?.(this.run.id) }));
  }

  show(run, { finished }) {
    this.run = run;
    this.node.hidden = !finished || !run.alone;
    say(this.words, run.alone ?? "");
  }
}
