// What the similarity of a query hangs on, a picture a loss: red where it falls while a patch is covered, blue where it rises.

import { el, say } from "../common/dom.js";
import { brief } from "../common/names.js";
import { armHeading } from "../common/tiles.js";

export class HeatMaps {
  constructor() {
    this.title = el("h3", {});
    this.note = el("p", { class: "rs-note" });
    this.pictures = el("div", { class: "rs-columns rs-heatmaps" });
    this.node = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "Heat maps", tabindex: "-1", hidden: true }, this.title, this.note, this.pictures);
  }

  empty() {
    this.node.hidden = true;
    this.pictures.replaceChildren();
  }

  /** The server's answer: {of, grid, arms: [{title, picture, words} or {title, error}]}. */
  show({ of, grid, arms }, title) {
    say(this.title, `${title}: what the similarity hangs on`);
    say(this.note, `The image is covered patch by patch, ${grid} × ${grid}. Red: the similarity to ${of} falls without the patch; blue: it rises. Each picture has its own scale.`);
    this.pictures.replaceChildren(...arms.map((arm, number) => picture(arm, number)));
    this.node.hidden = false;
    this.node.scrollIntoView({ block: "center" });
    this.node.focus({ preventScroll: true });
  }
}

function picture({ title, error, picture: src, words }, number) {
  const head = armHeading(number, title);
  if (error) return el("figure", {}, head, el("p", { class: "rs-note", text: error }));
  const save = el("a", { href: src, download: `rankscope-heat-map-${number + 1}.png`, class: "rs-act", text: "PNG" });
  return el("figure", { class: "rs-stack rs-tight" }, head, el("img", { src, alt: `Heat map of ${brief(title)}: ${words}` }), el("figcaption", { class: "rs-note", text: words }), el("div", {}, save));
}
