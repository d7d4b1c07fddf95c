// What a run that stands alone does not show: a sentence once it is finished, and a way to a sweep where the page has one.
//
// A part of the page that makes sweeps sets `window.rankscope.sweep(id)`, and says so by the event "rankscope:sweeps".

import { el, say } from "../common/dom.js";

export class Alone {
  constructor() {
    this.words = el("span", {});
    this.button = el("button", { type: "button", class: "rs-textbutton", text: "Make it a sweep", onclick: () => window.rankscope.sweep(this.run.id) });
    this.node = el("p", { class: "rs-flow rs-note rs-alone-run", hidden: true }, this.words, this.button);
    window.addEventListener("rankscope:sweeps", () => this.offer());
  }

  show(run, { finished }) {
    this.run = run;
    this.node.hidden = !finished || !run.alone;
    say(this.words, run.alone ?? "");
    this.offer();
  }

  offer() {
    this.button.hidden = typeof window.rankscope?.sweep !== "function";
  }
}
