// The image that is searched with, and beside it the result that is pointed at.

import { el, figure, say } from "../common/dom.js";
import { brief, coarseToFine, inFull } from "../common/names.js";
import { originalButton } from "../common/original.js";
import { thumbnail } from "../common/thumbnails.js";
import { why } from "./result_rows.js";

export class AboutQuery {
  constructor() {
    this.query = new Card("The query");
    this.original = originalButton(this.query.image, () => this.asked);
    this.query.note.after(this.original);
    this.pointed = new Card("");
    this.pointed.node.classList.add("rs-popup");
    this.pointed.hide();
    this.node = el("div", { class: "rs-querycards" }, this.query.node, el("div", { class: "rs-pointed" }, this.pointed.node));
  }

  /** An image of a gallery: `classes` finest first, empty where they are not known; `asked`: {run, gallery, row} of it. */
  show(images, row, classes, asked) {
    this.asked = asked;
    this.original.hidden = false;
    thumbnail(this.query.image, images, row);
    this.query.setText(classes, `Image ${row + 1}`, "");
  }

  showUpload(url) {
    this.original.hidden = true;
    this.query.image.style.cssText = `background-image: url("${url}"); background-size: cover`;
    this.query.setText([], "Your image", "");
  }

  point(result, images) {
    if (!result) return this.pointed.hide();
    thumbnail(this.pointed.image, images, result.row);
    this.pointed.setText(result.classes, `Image ${result.row + 1}`, [`Similarity ${figure(result.similarity)}.`, why(result)].filter(Boolean).join(" "));
    return undefined;
  }
}

class Card {
  constructor(label) {
    this.image = el("span", { class: "rs-picture rs-query", role: "img" });
    this.name = el("h3", { class: "rs-clamp" });
    this.path = el("p", { class: "rs-clamp rs-note" });
    this.note = el("p", { class: "rs-note" });
    this.node = el("div", { class: "rs-querycard", "aria-label": label || null, role: label ? "group" : null, "aria-hidden": label ? null : "true" }, this.image, el("div", {}, this.name, this.path, this.note));
  }

  setText(classes, otherwise, note) {
    const names = classes.map((cls) => brief(cls));
    this.node.style.visibility = "";
    say(this.name, names[0] ?? otherwise);
    say(this.path, coarseToFine(names.slice(1)));
    say(this.note, note);
    this.name.title = classes.map(inFull).join("\n");
    this.image.setAttribute("aria-label", names.length ? `${otherwise}: ${names.join(", ")}` : otherwise);
  }

  hide() {
    this.node.style.visibility = "hidden";
  }
}
