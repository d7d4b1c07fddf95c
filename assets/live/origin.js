// The way from a run to the plan that it is part of.

import { el } from "../common/dom.js";
import { toPlan } from "../common/navigation.js";

export class Origin {
  constructor() {
    this.node = el("button", { type: "button", class: "rs-act", hidden: true, text: "Its comparison", title: "This run is part of a comparison: open it", onclick: () => toPlan(this.run.part_of) });
  }

  show(run) {
    this.run = run;
    this.node.hidden = !run.part_of;
  }
}
