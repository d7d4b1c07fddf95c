// One query in its forms, whole, without its object, the object alone, and what each arm finds for each of them.

import { arrows } from "../common/arrows.js";
import { el } from "../common/dom.js";
import { brief, capital, inFull } from "../common/names.js";
import { moved, percent } from "../common/measures.js";
import { armHeading, strip, Tile } from "../common/tiles.js";
import { why } from "./result_rows.js";

export class FormRows {
  constructor() {
    this.node = el("section", { class: "rs-panel rs-stack rs-formrows", "aria-label": "A query in its forms", tabindex: "-1", hidden: true });
  }

  /** `query`: {title, about, titles: {form: words}, picture(form): url, images, words, arms: [{title, error, note, forms:
   * {form: [results]}}]}. */
  show({ title, about, titles, picture, images, words, arms }) {
    const forms = Object.entries(titles);
    const pictures = forms.map(([form, text]) => el("figure", { class: "rs-stack rs-tight" }, el("img", { class: "rs-formimage", src: picture(form), alt: `${title}: ${text}` }), el("figcaption", { class: "rs-note", text: capital(text) })));
    this.node.hidden = false;
    this.node.replaceChildren(el("h3", { text: title }), el("p", { class: "rs-note", text: about }), el("div", { class: "rs-forms" }, ...pictures), ...arms.map((arm, at) => this.arm(arm, at, forms, images, words)));
  }

  arm(arm, at, forms, images, words) {
    const head = armHeading(at, brief(arm.title), el("span", { class: "rs-note", text: arm.note ?? "" }));
    if (arm.error) return el("div", { class: "rs-stack rs-tight" }, head, el("p", { class: "rs-note", text: arm.error }));
    const whole = new Map((Object.values(arm.forms)[0] ?? []).map(({ row }, rank) => [row, rank]));
    const rows = forms.filter(([form]) => arm.forms[form]).map(([form, text], place) => this.row(arm, text, arm.forms[form], images, words, place ? whole : null));
    return el("div", { class: "rs-stack rs-tight" }, head, ...rows);
  }

  row(arm, text, results, images, words, whole) {
    const run = Object.assign(Object.create(images), { names: { length: words.length - 1 }, words });
    const list = strip(`${arm.title}, ${text}`, ...results.map((result, rank) => tile(result, rank, run, whole)));
    list.classList.add("rs-formstrip");
    arrows(list);
    return el("div", { class: "rs-formrow" }, el("span", { class: "rs-note", text: capital(text) }), list);
  }

  empty() {
    this.node.hidden = true;
  }
}

function tile(result, rank, run, whole) {
  const tile = new Tile("div", {});
  const word = tile.show(run, result.row, result.severity);
  tile.word.hidden = !word;
  const name = brief(result.classes[0] ?? "");
  const change = whole && changed(whole.get(result.row), rank);
  tile.press.append(el("span", { class: "rs-note rs-tiletext", text: name }));
  if (whole) tile.press.append(el("span", { class: "rs-note rs-tiletext rs-staysword", text: change }));
  tile.press.setAttribute("role", "group");
  tile.press.setAttribute("aria-label", [`Rank ${rank + 1}`, word, name, change ?? ""].filter(Boolean).join(", "));
  tile.press.title = [...result.classes.map(inFull), why(result)].filter(Boolean).join("\n");
  return tile.node;
}

/** "new", how many ranks it rose or fell, or "stays". */
const changed = (before, rank) => (before === undefined ? "new" : moved(before - rank) || "stays");

export const staying = (share) => (Number.isFinite(share) ? `${percent(share)} of the neighbours stay when the object goes` : "");
