// Two rows of neighbours under one arm: for the image as it is, and for the image without what was marked.

import { el, say } from "../common/dom.js";
import { moved } from "../common/measures.js";
import { namesOf } from "../common/thumbnails.js";
import { armHeading, similarity, strip, Tile } from "../common/tiles.js";

export class BeforeAfter {
  constructor(run, title, arm) {
    this.run = run;
    this.change = el("span", { class: "rs-note rs-summary" });
    this.lists = ["before", "after"].map((side) => strip(`Nearest ${side}, ${title}`));
    const row = (word, list) => el("div", { class: "rs-nearrow" }, el("span", { class: "rs-note rs-fieldname", text: word }), list);
    this.rows = el("div", { hidden: true }, row("before", this.lists[0]), row("after", this.lists[1]));
    this.node = el("div", { class: "rs-row" }, armHeading(arm, title, this.change), this.rows);
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
    const title = `Rank ${rank + 1}: ${namesOf(this.run, one.index).join(", ")}${similarity(one.similarity)}`;
    const tile = new Tile("div", { title });
    tile.show(this.run, one.index, one.shared);
    if (change) tile.word.append(el("span", { class: "rs-change", text: change }));
    tile.press.append(el("span", { class: "rs-unseen", text: title }));
    return tile.node;
  }
}
