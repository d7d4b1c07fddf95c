// Two rows of neighbours under one arm: for the image as it is, and for the image without what was marked.

import { el, figure, say, swatch } from "../common/dom.js";
import { severity } from "../common/palette.js";
import { moved } from "./fields.js";
import { namesOf, thumbnail } from "../common/thumbnails.js";

export class BeforeAfter {
  constructor(run, title, arm) {
    this.run = run;
    this.change = el("span", { class: "rs-summary" });
    this.lists = ["before", "after"].map((side) => el("ol", { class: "rs-strip", tabindex: "0", "aria-label": `Nearest ${side}, ${title}` }));
    const row = (word, list) => el("div", { class: "rs-nearrow" }, el("span", { class: "rs-fieldname", text: word }), list);
    this.rows = el("div", { hidden: true }, row("before", this.lists[0]), row("after", this.lists[1]));
    this.node = el("div", { class: "rs-row" }, el("h4", {}, swatch(arm), el("span", { text: title }), this.change), this.rows);
    this.clear();
  }

  clear() {
    this.rows.hidden = true;
    say(this.change, "appears when something is drawn");
  }

  show(arm) {
    const [before, after] = [arm.before, arm.after].map((list) => new Set(list.map((one) => one.index)));
    const entered = arm.after.filter((one) => !before.has(one.index)).length;
    const left = arm.before.filter((one) => !after.has(one.index)).length;
    say(this.change, `${left} left, ${entered} entered`);
    this.lists[0].replaceChildren(...arm.before.map((one, rank) => this.tile(one, rank, after.has(one.index) ? "" : "left")));
    this.lists[1].replaceChildren(...arm.after.map((one, rank) => this.tile(one, rank, moved(one.move))));
    this.rows.hidden = false;
  }

  tile(one, rank, change) {
    const judged = severity(this.run, one.shared);
    const image = thumbnail(el("span", { class: "rs-picture" }), this.run, one.index);
    image.append(el("span", { class: "rs-mark", "aria-hidden": "true", text: judged.mark }));
    const words = el("span", { class: "rs-severity", text: judged.word }, change ? el("span", { class: "rs-change", text: change }) : null);
    const near = Number.isFinite(one.similarity) ? `, similarity ${figure(one.similarity)}` : "";
    const title = `Rank ${rank + 1}: ${namesOf(this.run, one.index).join(", ")}${near}`;
    return el("li", {}, el("div", { class: "rs-tile", "data-severity": judged.kind, title }, image, words, el("span", { class: "rs-unseen", text: title })));
  }
}
