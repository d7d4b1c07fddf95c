// The section Plots: numbers of the run against each other, at the step that is shown. The server says which there are.

import { el } from "../../common/dom.js";
import { fold } from "../../common/fields.js";
import { FORMS } from "./forms.js";
import { PlotCard } from "./plot_card.js";

/** `on`: {seek(step)} when a curve is clicked. */
export class Plots {
  constructor(on) {
    this.on = on;
    this.grid = el("div", { class: "rs-plots" });
    this.folded = el("div", { class: "rs-plots" });
    this.more = fold("More plots", this.folded);
    this.missing = el("ul", { class: "rs-note rs-missingplots" });
    this.node = el("section", { class: "rs-stack rs-plotsection", "aria-label": "Plots", hidden: true }, el("h3", { text: "Plots" }), this.grid, this.more, this.missing);
    this.empty();
  }

  empty() {
    for (const { view } of this.cards ?? []) view.leave?.();
    Object.assign(this, { cards: [], said: null });
    this.node.hidden = true;
    this.grid.replaceChildren();
    this.folded.replaceChildren();
    this.missing.replaceChildren();
  }

  load(run) {
    this.empty();
    const known = run.measures.plots.filter(({ form }) => FORMS.has(form));
    this.cards = known.map((about) => new PlotCard(run, about, FORMS.get(about.form).make(run, about, this.on)));
    const nodes = (folded) => this.cards.filter(({ about }) => about.folded === folded).map(({ node }) => node);
    this.grid.replaceChildren(...nodes(false));
    this.folded.replaceChildren(...nodes(true));
  }

  update(series, step) {
    for (const card of this.cards) card.draw(series, step);
    const without = this.cards.filter((card) => card.node.hidden);
    const words = without.map(({ about }) => `${about.title}: ${about.missing}`);
    if (words.join("\n") !== this.said) this.missing.replaceChildren(...words.map((text) => el("li", { text })));
    this.said = words.join("\n");
    this.more.hidden = this.cards.every(({ node, about }) => node.hidden || !about.folded);
    this.node.hidden = this.cards.every(({ node, view }) => node.hidden || view.general);
  }
}
