// The button that asks for more epochs of the last map of a run that has ended.

import * as api from "../common/api.js";
import { el, say } from "../common/dom.js";

const WORDS = { offered: "Refine the map", awaited: "Refining the map" };

export class Refine {
  /** `failed(sentence)` when the server refuses. */
  constructor(failed) {
    this.failed = failed;
    this.text = el("span", {});
    const title = "Up to 200 more epochs for the last map, shown as one more frame.";
    this.node = el("button", { type: "button", class: "rs-act", title, hidden: true, onclick: () => this.ask() }, this.text);
  }

  /** `state`: offered, awaited, or anything else: then there is no button. */
  show(id, state) {
    this.id = id;
    this.node.hidden = !WORDS[state];
    this.node.disabled = state === "awaited";
    say(this.text, WORDS[state] ?? "");
  }

  async ask() {
    const { id } = this;
    this.show(id, "awaited");
    try {
      await api.refine(id);
    } catch (error) {
      if (id === this.id) this.show(id, "offered");
      this.failed(error.message);
    }
  }
}
