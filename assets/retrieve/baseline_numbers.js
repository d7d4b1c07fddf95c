// The numbers of the open run less those of a baseline, at the step that is shown.

import { el, grouped, say } from "../common/dom.js";
import { Problem } from "../common/fields.js";
import { signed } from "../common/measures.js";
import { brief } from "../common/names.js";
import { table, tableBox } from "../common/table.js";
import * as api from "./api.js";

export class BaselineNumbers {
  constructor() {
    this.problem = new Problem();
    this.title = el("h3", {});
    this.box = tableBox();
    this.note = el("p", { class: "rs-note" });
    this.node = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "Difference to the baseline", hidden: true }, this.title, this.problem.node, this.box, this.note);
  }

  /** `asked`: {run, baseline, step}; without a baseline nothing is shown. */
  async load(asked) {
    const turn = (this.turn = {});
    this.node.hidden = !asked.baseline;
    if (!asked.baseline) return;
    say(this.title, `${asked.step === null ? "Last numbers" : `Numbers at step ${grouped(asked.step)}`} less the baseline's`);
    try {
      const answer = await api.mistakes("baseline", asked);
      if (turn !== this.turn) return;
      this.problem.say(null);
      this.show(answer);
    } catch (error) {
      if (turn !== this.turn) return;
      this.problem.say(error.message);
      this.box.replaceChildren();
      this.note.textContent = "";
    }
  }

  show({ whole, measures, arms }) {
    const rows = arms.map((arm) => [brief(arm.title), brief(arm.less), ...arm.numbers.map((value) => (value === null ? "–" : signed(value)))]);
    this.box.replaceChildren(table(["Loss", "less", ...measures.map(({ title }) => brief(title))], rows));
    this.note.textContent = whole ? "Both maps show the same images." : "The maps of the two runs show different images, in part: so do the numbers that are of the map.";
  }
}
