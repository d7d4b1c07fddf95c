// The nearest captions: one card per model, the same rank in the same row, for the filled image or the original.

import { el, say, swatch } from "../common/dom.js";
import { button, number, segments } from "../common/fields.js";
import { listed, moved } from "../common/measures.js";
import { captionNodes, key, verdict } from "./caption_words.js";

const SIDES = [["removed", "for the image without it"], ["original", "for the original"]];

/** `on`: {csv() to download the captions, count() when more or fewer are asked for}. */
export class Captions {
  constructor(on) {
    this.switcher = segments("Captions are for", SIDES, "removed", () => this.draw());
    this.csv = button("Captions CSV", on.csv);
    this.csv.disabled = true;
    this.count = number(5, 1, 20, 1, on.count);
    const count = el("label", { class: "rs-flow rs-tight rs-howmany" }, this.count, el("span", { class: "rs-note rs-fieldname", text: "per model" }));
    this.grid = el("div", { class: "rs-columns rs-captions" });
    this.notes = el("p", { class: "rs-note" });
    const head = el("header", { class: "rs-flow rs-sectionhead" }, el("h2", { text: "Nearest captions" }), count, this.switcher, this.csv);
    this.outcome = el("p", { class: "rs-flow rs-outcome", role: "status" });
    this.node = el("section", { class: "rs-stack", "aria-label": "Nearest captions" }, head, this.outcome, this.grid, key(), this.notes);
    this.cards = [];
  }

  /** Cards of fixed height before anything is known: `titles` of the models. */
  wait(titles) {
    const { k } = this;
    this.grid.style.setProperty("--rows", k + 3);
    this.reply = null;
    say(this.notes, "");
    this.outcome.replaceChildren();
    if (titles.join("\n") !== this.cards.map((card) => card.title.textContent).join("\n")) {
      this.cards = titles.map((title, arm) => new Card(title, arm));
      this.grid.replaceChildren(...this.cards.map((card) => card.node));
    }
    this.cards.forEach((card) => card.placeholders(k));
  }

  /** Nothing has been removed from the image yet. */
  reset() {
    this.reply = null;
    this.csv.disabled = true;
    this.grid.style.setProperty("--rows", 4);
    this.cards.forEach((card) => card.vacant());
    this.busy(false);
  }

  get k() {
    return Number(this.count.value);
  }

  /** An answer is awaited; the current one stays until then. */
  busy(on) {
    this.grid.setAttribute("aria-busy", String(on));
  }

  show(reply) {
    this.reply = reply;
    this.csv.disabled = false;
    if (this.cards.length !== reply.models.length) this.wait(reply.models.map((model) => model.title));
    this.grid.style.setProperty("--rows", Math.max(...reply.models.flatMap((model) => (model.waiting ? [this.k] : [model.removed.length, model.original.length]))) + 3);
    say(this.notes, reply.notes.join(" "));
    this.tell();
    this.draw();
    this.busy(false);
  }

  /** How many captions of each model name what is gone. */
  tell() {
    const { removed, models } = this.reply;
    const known = models.flatMap((model, arm) => (model.waiting ? [] : [[model, arm]]));
    const counts = known.map(([model, arm]) => el("span", { class: "rs-flow rs-tight" }, swatch(arm), el("b", { text: model.title }), ` ${naming(model.removed, removed)} of ${model.removed.length}`));
    const it = removed.length > 1 ? "one of them" : "it";
    const gone = `The ${listed(removed)} ${removed.length > 1 ? "are" : "is"} gone. Captions that still name ${it}:`;
    this.outcome.replaceChildren(...(counts.length ? [el("span", { text: gone }), ...counts] : []));
  }

  draw() {
    if (this.reply) this.cards.forEach((card, i) => card.show(this.reply.models[i], this.switcher.value, this.k));
  }
}

class Card {
  constructor(title, arm) {
    this.title = el("h3", { text: title });
    this.about = el("p", { class: "rs-note rs-sideabout" });
    this.note = el("p", { class: "rs-modelnote" });
    this.rows = el("ol", { class: "rs-captionlist" });
    this.left = el("ol", { class: "rs-captionlist rs-before-removal" });
    this.change = el("summary", {});
    this.fold = el("details", { class: "rs-unfold rs-changes" }, this.change, this.left);
    this.node = el("article", { class: "rs-captioncard" }, el("header", { class: "rs-flow" }, swatch(arm), this.title, this.about), this.note, this.rows, this.fold);
  }

  /** The model still encodes the captions that it chooses from. */
  pending({ message, fraction }, k) {
    this.placeholders(k); // what stood there was about another image
    say(this.about, /\d of \d/.test(message) ? message : `${message}, ${Math.round(fraction * 100)} %`);
  }

  /** Nothing is asked, so nothing is on its way. */
  vacant() {
    for (const line of [this.about, this.note]) say(line, "");
    this.rows.replaceChildren(el("li", { class: "rs-caption" }, el("span", { class: "rs-note rs-unasked", text: "Mark something in the image above: its captions without it appear here." })));
    this.fold.hidden = true;
  }

  placeholders(k) {
    for (const line of [this.about, this.note]) say(line, "");
    const placeholder = (_, i) => el("li", { class: "rs-caption" }, el("span", { class: "rs-placeholder rs-placeholderline", style: `width: ${78 - ((i * 17) % 30)}%` }));
    this.rows.replaceChildren(...Array.from({ length: k }, placeholder));
    this.change.replaceChildren("…");
    this.fold.hidden = false;
  }

  show(model, side, k) {
    if (model.waiting) return this.pending(model.waiting, k);
    const original = side === "original";
    const { partial } = model;
    say(this.title, model.title);
    say(this.about, partial ? `${Math.round(partial.fraction * 100)} % of the captions read` : `for the ${original ? "original" : "filled"} image`);
    say(this.note, model.notes.filter((note) => !partial || !note.includes(partial.message)).join(" ")); // said above
    const gone = new Set(model.left);
    const row = (caption, rank) => line(caption, original ? (gone.has(rank) ? "left" : null) : caption.move);
    this.rows.replaceChildren(...model[side].map(row));
    say(this.change, `${model.left.length} left, ${model.entered.length} entered`);
    this.left.replaceChildren(...model.original.map((caption, rank) => line(caption, gone.has(rank) ? "left" : "stayed")));
    this.left.setAttribute("aria-label", `What ${model.title} said about the original`);
  }
}

/** How many captions name one of these classes. */
export const naming = (captions, classes) => captions.filter(({ parts }) => (parts ?? []).some((part) => part.classes.some((name) => classes.includes(name)))).length;

function line(caption, move) {
  const near = caption.similarity.toFixed(3).replace(/^(-?)0\./, "$1.");
  return el(
    "li",
    { class: "rs-caption" },
    verdict(caption.verdict),
    el("span", { class: "rs-words" }, ...captionNodes(caption)),
    el("span", { class: "rs-note rs-captionmove", text: moved(move) }),
    el("span", { class: "rs-note rs-similarity", title: "similarity of image and caption" }, el("span", { class: "rs-unseen", text: "similarity " }), near),
  );
}
