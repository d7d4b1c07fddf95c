// A plot in its card: title, files to keep, the picture, one sentence on how to read it and where it comes from.

import { el } from "../../common/dom.js";
import { saveCsv, savePng } from "../../common/files.js";
import { pictureOf } from "../../common/plot_picture.js";

export class PlotCard {
  /** `about`: the plot as the server describes it; `view`: what its form made, see forms.js. */
  constructor(run, about, view) {
    Object.assign(this, { run, about, view });
    const tool = (words, label, pressed) => el("button", { type: "button", class: "rs-plottool", text: words, "aria-label": `${about.title}: ${label}`, onclick: pressed });
    const tools = el("span", { class: "rs-flow rs-plottools" }, tool("CSV", "save as CSV", () => saveCsv(view.rows(), `${this.name}.csv`)), tool("PNG", "save as a picture", () => this.picture()));
    const source = about.source ? el("span", { class: "rs-plotsource" }, " ", about.url ? el("a", { href: about.url, target: "_blank", rel: "noopener", text: about.source }) : about.source, ".") : null;
    this.note = el("p", { class: "rs-note rs-plotnote", text: about.note }, source);
    this.node = el("section", { class: `rs-panel rs-plotcard${view.wide ? " rs-wideplot" : ""}${view.general ? " rs-widestplot" : ""}`, "aria-label": about.title, hidden: true }, el("header", { class: "rs-flow" }, el("h4", { text: about.title }), tools), view.node, this.note);
  }

  get name() {
    return `rankscope-${this.run.id}-${this.about.name}`;
  }

  draw(series, step) {
    this.node.hidden = !this.view.draw(series, step);
  }

  async picture() {
    savePng(await pictureOf(this.node, this.view.general ? null : this.run), this.name);
  }
}
