// Charts of the tab: a card per metric, the first ones shown and the others folded, each saved as PNG.

import { Chart } from "../common/chart.js";
import { el } from "../common/dom.js";
import { fold, iconButton } from "../common/fields.js";
import { savePng } from "../common/files.js";
import { pictureOf } from "../common/plot_picture.js";
import { heading } from "./reading.js";

const FIRST = 3; // pictures outside the fold

/** A card per metric; `draw(metric, width)`: Plot's options, `words(metric)`: the same in words. */
export class Pictures {
  constructor(draw, words) {
    Object.assign(this, { draw, words });
    this.first = el("div", { class: "rs-columns rs-pictures" });
    this.later = el("div", { class: "rs-columns rs-pictures" });
    this.rest = fold("More metrics", this.later);
    this.nodes = [this.first, this.rest];
  }

  /** `name`: how the files begin. */
  show(metrics, name) {
    const keys = JSON.stringify([name, metrics.map((metric) => metric.key)]);
    if (keys !== this.keys) {
      this.keys = keys;
      this.cards = metrics.map((metric) => new Card(metric, name));
      this.first.replaceChildren(...this.cards.slice(0, FIRST).map((card) => card.node));
      this.later.replaceChildren(...this.cards.slice(FIRST).map((card) => card.node));
      this.rest.hidden = this.cards.length <= FIRST;
    }
    for (const { metric, chart } of this.cards) {
      chart.show((width) => this.draw(metric, width));
      chart.say(`${heading(metric)}. ${this.words(metric)}`);
    }
  }
}

class Card {
  constructor(metric, name) {
    this.metric = metric;
    this.chart = new Chart();
    const title = heading(metric);
    const download = iconButton("down", `Save "${title}" as a picture (PNG)`, async () => savePng(await pictureOf(this.node), `rankscope-${name}-${metric.key}`));
    this.node = el("figure", { class: "rs-panel rs-picturebox" }, el("figcaption", { class: "rs-flow" }, el("span", { text: title }), download), this.chart.node);
  }
}

export const known = (cell) => Number.isFinite(cell?.mean);
