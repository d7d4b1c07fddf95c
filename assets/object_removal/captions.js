// What each model says: one card per model, the same rank in the same row, for the filled photo or the original.

import { el, say } from "../common/dom.js";
import { button, number, segments } from "./fields.js";
import { ARM_NAMES } from "../common/palette.js";
import { key, sentence, verdict } from "./caption_words.js";

const SIDES = [["removed", "for the photo without it"], ["original", "for the original"]];

/** `on`: {csv() when the sentences are to be taken home, count() when more or fewer are wanted}. */
export class Sentences {
  constructor(on) {
    this.switcher = segments("Sentences are for", SIDES, "removed", () => this.draw());
    this.csv = button("Sentences CSV", on.csv);
    this.csv.disabled = true;
    this.count = number(5, 1, 20, 1, on.count);
    const count = el("label", { class: "rs-howmany" }, this.count, el("span", { class: "rs-fieldname", text: "per model" }));
    this.grid = el("div", { class: "rs-captions" });
    this.notes = el("p", { class: "rs-note" });
    const head = el("header", { class: "rs-sectionhead" }, el("h2", { text: "Nearest sentences" }), count, this.switcher, this.csv);
    this.node = el("section", { class: "rs-captionsection", "aria-label": "Nearest sentences" }, head, this.grid, key(), this.notes);
    this.cards = [];
  }

  /** Cards of fixed height before anything is known: `titles` of the models. */
  wait(titles) {
    const { k } = this;
    this.grid.style.setProperty("--rows", k + 3);
    this.reply = null;
    say(this.notes, "");
    if (titles.join("\n") !== this.cards.map((card) => card.title.textContent).join("\n")) {
      this.cards = titles.map((title, arm) => new Card(title, arm));
      this.grid.replaceChildren(...this.cards.map((card) => card.node));
    }
    this.cards.forEach((card) => card.bones(k));
  }

  /** Nothing was taken out of the photo yet. */
  rest() {
    this.reply = null;
    this.csv.disabled = true;
    this.cards.forEach((card) => say(card.about, "once something is taken out"));
    this.busy(false);
  }

  get k() {
    return Number(this.count.value);
  }

  /** An answer is on its way; what stands there stays until it comes. */
  busy(on) {
    this.grid.setAttribute("aria-busy", String(on));
  }

  show(reply) {
    this.reply = reply;
    this.csv.disabled = false;
    if (this.cards.length !== reply.models.length) this.wait(reply.models.map((model) => model.title));
    this.grid.style.setProperty("--rows", Math.max(...reply.models.flatMap((model) => (model.waiting ? [this.k] : [model.removed.length, model.original.length]))) + 3);
    say(this.notes, reply.notes.join(" "));
    this.draw();
    this.busy(false);
  }

  draw() {
    if (this.reply) this.cards.forEach((card, i) => card.show(this.reply.models[i], this.switcher.value, this.k));
  }
}

class Card {
  constructor(title, arm) {
    this.title = el("h3", { text: title });
    this.about = el("p", { class: "rs-sideabout" });
    this.note = el("p", { class: "rs-modelnote" });
    this.rows = el("ol", { class: "rs-captionlist" });
    this.left = el("ol", { class: "rs-captionlist rs-before-removal" });
    this.change = el("summary", {});
    this.fold = el("details", { class: "rs-unfold rs-changes" }, this.change, this.left);
    const square = el("span", { class: `rs-swatch rs-${ARM_NAMES[arm]}`, "aria-hidden": "true" });
    this.node = el("article", { class: "rs-captioncard" }, el("header", {}, square, this.title, this.about), this.note, this.rows, this.fold);
  }

  /** The model still reads the sentences that it chooses from. */
  late({ message, fraction }, k) {
    this.bones(k); // what stood there was said about another picture
    say(this.about, `${message}, ${Math.round(fraction * 100)} %`);
  }

  bones(k) {
    for (const line of [this.about, this.note]) say(line, "");
    const bone = (_, i) => el("li", { class: "rs-caption" }, el("span", { class: "rs-placeholder rs-placeholderline", style: `width: ${78 - ((i * 17) % 30)}%` }));
    this.rows.replaceChildren(...Array.from({ length: k }, bone));
    this.change.replaceChildren("…");
    this.fold.hidden = false;
  }

  show(model, side, k) {
    if (model.waiting) return this.late(model.waiting, k);
    const original = side === "original";
    const { partial } = model;
    say(this.title, model.title);
    say(this.about, partial ? `${Math.round(partial.fraction * 100)} % of the sentences read` : `for the ${original ? "original" : "filled"} photo`);
    say(this.note, model.notes.filter((note) => !partial || !note.includes(partial.message)).join(" ")); // said above
    const gone = new Set(model.left);
    const row = (said, rank) => line(said, original ? (gone.has(rank) ? "left" : null) : said.move);
    this.rows.replaceChildren(...model[side].map(row));
    say(this.change, `${model.left.length} left, ${model.entered.length} entered`);
    this.left.replaceChildren(...model.original.map((said, rank) => line(said, gone.has(rank) ? "left" : "stayed")));
    this.left.setAttribute("aria-label", `What ${model.title} said about the original`);
  }
}

function line(said, move) {
  const near = said.similarity.toFixed(3).replace(/^(-?)0\./, "$1.");
  return el(
    "li",
    { class: "rs-caption" },
    verdict(said.verdict),
    el("span", { class: "rs-words" }, ...sentence(said)),
    el("span", { class: "rs-move", text: words(move) }),
    el("span", { class: "rs-similarity", title: "similarity of photo and sentence" }, el("span", { class: "rs-unseen", text: "similarity " }), near),
  );
}

/** "new", "up 3", "left", or nothing where a sentence kept its place. */
function words(move) {
  if (typeof move !== "number") return move ?? "";
  return move === 0 ? "" : `${move > 0 ? "up" : "down"} ${Math.abs(move)}`;
}
