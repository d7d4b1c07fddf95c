// Delete, and the question before it: for good, or keep it.

import { say } from "./dom.js";
import { button } from "./fields.js";

export class Deletion {
  /** `confirmed()`: it is to be deleted. The `nodes` stand in a row of buttons. */
  constructor(confirmed) {
    this.possible = false;
    this.begin = button("Delete", () => this.ask(true));
    this.sure = button("Delete for good", () => {
      this.ask(false);
      confirmed();
    }, "rs-danger");
    this.keep = button("Keep", () => this.ask(false));
    this.nodes = [this.begin, this.sure, this.keep];
    this.ask(false);
  }

  /** How many runs go with it. */
  count(runs) {
    say(this.sure, runs ? `Delete it and its ${runs === 1 ? "run" : `${runs} runs`} for good` : "Delete for good");
  }

  allow(possible) {
    this.possible = possible;
    this.ask(this.asking && possible);
  }

  ask(asking) {
    const changed = asking !== this.asking;
    this.asking = asking;
    this.begin.hidden = asking || !this.possible;
    this.sure.hidden = this.keep.hidden = !asking;
    if (changed && asking) this.keep.focus();
  }
}
