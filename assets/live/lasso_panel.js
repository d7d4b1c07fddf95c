// The images inside the lasso: counts per class, the images, their ids as a file.

import { el, grouped, onPoint, say } from "../common/dom.js";
import { saveCsv } from "../common/files.js";
import { brief } from "../common/names.js";
import { namesOf, thumbnail, imageLabel, tooltipOf } from "../common/thumbnails.js";

const MOST = 60;

/** `on`: {hover(i | null), choose(i), clear()}. */
export class LassoPanel {
  constructor(on) {
    this.on = on;
    this.ids = [];
    this.title = el("h3", {});
    this.counts = el("p", { class: "rs-note rs-path" });
    this.strip = el("ol", { class: "rs-strip rs-small", tabindex: "0", "aria-label": "Images in the lasso" });
    const csv = el("button", { type: "button", class: "rs-act", text: "Download ids (CSV)", onclick: () => this.download() });
    const clear = el("button", { type: "button", class: "rs-act", text: "Clear", onclick: () => on.clear() });
    const head = el("div", { class: "rs-flow rs-lassohead" }, this.title, csv, clear);
    this.node = el("section", { class: "rs-panel", "aria-label": "Images in the lasso", hidden: true }, head, this.counts, this.strip);
  }

  /** `classes`: {names, values}, what colours the maps, for the counts; `title`: what the images are, empty: those in the lasso. */
  show(run, ids, classes, title = "") {
    this.run = run;
    this.ids = ids;
    this.node.hidden = ids.length === 0;
    if (!ids.length) {
      for (const part of [this.title, this.counts, this.strip]) part.replaceChildren();
      return;
    }
    say(this.title, title || `${grouped(ids.length)} ${ids.length === 1 ? "image" : "images"} in the lasso`);
    say(this.counts, this.tally(classes));
    const shown = ids.slice(0, MOST).map((i) => this.tile(i));
    if (ids.length > MOST) shown.push(el("li", { class: "rs-note rs-rest", text: `and ${grouped(ids.length - MOST)} more` }));
    this.strip.replaceChildren(...shown);
  }

  tally({ names, values }) {
    const counts = new Map();
    for (const i of this.ids) {
      const name = names[values[i]];
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const words = sorted.slice(0, 8).map(([name, count]) => `${brief(name, 40)} ${count}`);
    if (sorted.length > 8) words.push(`${sorted.length - 8} more classes`);
    return words.join(" · ");
  }

  tile(i) {
    const image = thumbnail(el("span", { class: "rs-picture" }), this.run, i);
    const press = el("button", { type: "button", class: "rs-tile", "aria-label": imageLabel(this.run, i), title: tooltipOf(this.run, i) }, image);
    press.addEventListener("click", () => this.on.choose(i));
    onPoint(press, (pointed) => this.on.hover(pointed ? i : null));
    return el("li", {}, press);
  }

  download() {
    const rows = this.ids.map((i) => [i, ...namesOf(this.run, i)]);
    saveCsv([["point", ...this.run.levels], ...rows], `rankscope-${this.run.id}-lasso.csv`);
  }
}
