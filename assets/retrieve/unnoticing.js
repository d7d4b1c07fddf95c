// The queries that do not notice the absence of their object: most of their neighbours stay. Each leads to its rows.

import { el } from "../common/dom.js";
import { brief, inFull } from "../common/names.js";
import { percent } from "../common/measures.js";
import * as api from "./api.js";
import { armHeading } from "../common/tiles.js";
import { longList } from "./pair_tile.js";

const FEW = 6;
const WHOLE = "whole";
const REMOVED = "without";
const NONE = "None: without its object, no query keeps any of its ten nearest images.";

export class Unnoticing {
  /** `open(query)`: show the query of this number in its forms. */
  constructor(open) {
    this.open = open;
    this.lists = el("div", { class: "rs-columns rs-confusions" });
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Queries that do not notice", hidden: true }, el("h3", { text: "Queries that do not notice that their object is gone" }), el("p", { class: "rs-note", text: "Those first whose ten nearest images stay the most. Press one to see what is found for it whole, without its object, and for its object alone." }), this.lists);
  }

  show(answer) {
    const arms = answer.arms.map((arm, at) => [arm, at]).filter(([arm]) => arm.unnoticing.length);
    this.node.hidden = !arms.length;
    this.lists.replaceChildren(...arms.map(([arm, at]) => this.list(arm, at, answer.key)));
  }

  list(arm, at, key) {
    const heading = armHeading(at, brief(arm.title));
    const items = arm.unnoticing.filter((query) => query.stays > 0);
    return el("div", { class: "rs-stack rs-tight" }, heading, items.length ? longList(items, (query) => this.item(query, key), FEW) : el("p", { class: "rs-note", text: NONE }));
  }

  item(query, key) {
    const name = query.classes.map((each) => brief(each));
    const image = (form, text) => el("img", { class: "rs-picture rs-pairpicture", src: api.measuredUrl(key, "form", form, query.query), alt: text, loading: "lazy" });
    const said = `${percent(query.stays)} stay, similarity ${query.similarity.toFixed(2)}, object ${percent(query.covered)} of the image`;
    const texts = el("span", { class: "rs-pairtext" }, el("span", { class: "rs-clamp rs-pairname", style: "--lines: 1", text: name[0] }), el("span", { class: "rs-note", text: said }));
    return el("li", {}, el("button", { type: "button", class: "rs-pairrow", title: query.classes.map(inFull).join("\n"), onclick: () => this.open(query.query) }, image(WHOLE, ""), image(REMOVED, ""), texts));
  }

  empty() {
    this.node.hidden = true;
  }
}
