// What is true of one map: how it stands to the space, for the level that colours it, and a sentence where it misleads.

import { el, say } from "../common/dom.js";
import { signed } from "../common/measures.js";
import { explained } from "./explained.js";

const short = (value) => value.toFixed(2);

export class Truth {
  constructor() {
    this.node = el("p", { class: "rs-flow rs-note rs-truth" });
    this.remarks = el("ul", { class: "rs-note rs-whole rs-diagnosis", "aria-label": "Where the map misleads" });
    this.figures = [];
  }

  /** `figures`: [{key, short, sentence, levels}] as the server sends them. */
  load(figures) {
    this.figures = figures.map((figure) => {
      const value = el("span", { class: "rs-truthvalue" });
      const node = el("span", { class: "rs-truthpart" }, explained(figure.short, figure.sentence), value);
      return { ...figure, value, node };
    });
    this.node.replaceChildren(...this.figures.map(({ node }) => node));
    this.show(null, null);
  }

  /** `about`: an arm of a frame; `level`: the level of the label tree that colours the map, null where none does. */
  show(about, level) {
    const known = (arm, { key, levels }) => {
      const value = arm?.measures?.[key];
      return levels ? value?.[level] : value;
    };
    for (const figure of this.figures) {
      const value = known(about, figure);
      const before = known(about?.before, figure);
      figure.node.hidden = !Number.isFinite(value);
      if (!figure.node.hidden) say(figure.value, short(value) + (Number.isFinite(before) ? ` (${signed(value - before, short)})` : ""));
    }
    const sentences = (level === null ? null : about?.remarks?.[level]) ?? [];
    if ([...this.remarks.children].map((item) => item.textContent).join("\n") === sentences.join("\n")) return;
    this.remarks.replaceChildren(...sentences.map((text) => el("li", { text })));
  }
}
