// The nearest captions: one card per model, the same rank in the same row, for the image without an object or the original.

import { json } from "../common/api.js";
import { el, say, swatch } from "../common/dom.js";
import { button, segments } from "../common/fields.js";
import { saveCsv } from "../common/files.js";
import { listed, moved } from "../common/measures.js";
import { Poll } from "../common/poll.js";
import { captionNodes, key, verdict } from "./caption_words.js";
import { seenClasses } from "./seen_classes.js";

const LATE = 1200; // ms; a model that still reads the captions is asked again
const BEFORE = "This result was computed beforehand.";
const SIDES = [["removed", "for the image without it"], ["original", "for the original"]];

export function mount(element, { value, watch, again, read }) {
  const captions = new Captions(element.querySelector(".rs-nearest"), { again, read });
  const show = () => captions.take(value());
  watch(show);
  show();
}

/** `on`: {again() asks once more, read() has the captions encoded for later questions}. */
class Captions {
  constructor(host, on) {
    this.on = on;
    this.switcher = segments("Captions are for", SIDES, "removed", () => this.draw());
    this.csv = button("Captions CSV", () => saveCsv(captionRows(this.reply), "rankscope-captions.csv"));
    this.csv.disabled = true;
    this.grid = el("div", { class: "rs-columns rs-captions" });
    this.notes = el("p", { class: "rs-note" });
    const head = el("header", { class: "rs-flow rs-sectionhead" }, el("h2", { text: "Nearest captions" }), this.switcher, this.csv);
    this.outcome = el("p", { class: "rs-flow rs-outcome", role: "status" });
    this.reading = new Reading();
    this.node = el("section", { class: "rs-stack", "aria-label": "Nearest captions" }, head, this.outcome, this.grid, key(), this.notes, this.reading.node);
    this.seen = el("div", { hidden: true });
    this.cards = [];
    this.k = 5;
    host.replaceChildren(el("div", { class: "rs-stack" }, this.seen, this.node));
    this.wait(["", ""]);
  }

  /** `value`: {k, titles, reply}; without a reply nothing has been removed from the image yet. */
  take(value) {
    if (!value) return;
    clearTimeout(this.later);
    this.k = value.k;
    this.reading.hide();
    if (!value.reply) {
      this.wait(value.titles);
      this.reset();
      return;
    }
    this.show(value.reply);
    if (value.reply.models.some((model) => model.waiting || model.partial)) this.later = setTimeout(() => this.on.again(), LATE);
    if (!value.reply.recorded) return;
    this.on.read();
    this.reading.begin(value.reply);
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
    this.seen.hidden = true;
    this.grid.style.setProperty("--rows", 4);
    this.cards.forEach((card) => card.vacant());
  }

  show(reply) {
    if (this.cards.length !== reply.models.length) this.wait(reply.models.map((model) => model.title));
    this.reply = reply;
    this.csv.disabled = false;
    this.grid.style.setProperty("--rows", Math.max(...reply.models.flatMap((model) => (model.waiting ? [this.k] : [model.removed.length, model.original.length]))) + 3);
    say(this.notes, reply.notes.join(" "));
    this.see(reply);
    this.tell();
    this.draw();
  }

  /** What the classifier sees: above the captions, unless a model that knows photographs answers with them. */
  see({ seen, removed }) {
    this.seen.hidden = !seen;
    if (!seen) return;
    this.seen.replaceChildren(seenClasses(seen, removed));
    if (seen.first) this.node.before(this.seen);
    else this.node.after(this.seen);
  }

  /** How many captions of each model name what is gone, where any could. */
  tell() {
    const { removed, models, kept, pool } = this.reply;
    const lacking = pool && !pool.naming;
    this.outcome.classList.toggle("rs-lacking", lacking || !kept.length);
    if (lacking) return say(this.outcome, `The ${listed(removed)} ${removed.length > 1 ? "are" : "is"} gone, and ${none(pool, removed)} So no answer could, and nothing can be said of it. ${PLACES.captions}`);
    const known = models.flatMap((model, arm) => (model.waiting ? [] : [[model, arm]]));
    const counts = known.map(([model, arm]) => el("span", { class: "rs-flow rs-tight" }, swatch(arm), el("b", { text: model.title }), ` ${naming(model.removed, removed)} of ${model.removed.length}`));
    const it = removed.length > 1 ? "one of them" : "it";
    const gone = `The ${listed(removed)} ${removed.length > 1 ? "are" : "is"} gone. Captions that still name ${it}:`;
    const others = kept.length || !counts.length ? [] : [el("span", { text: `Nothing else in the image is known, so no caption can count as right. ${PLACES.others}` })];
    return this.outcome.replaceChildren(...(counts.length ? [el("span", { text: gone }), ...counts, ...others] : []));
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
    this.fold.hidden = false;
    say(this.change, `${model.left.length} left, ${model.entered.length} entered`);
    this.left.replaceChildren(...model.original.map((caption, rank) => line(caption, gone.has(rank) ? "left" : "stayed")));
    this.left.setAttribute("aria-label", `What ${model.title} said about the original`);
  }
}

/** Where what a verdict lacks can be given. */
const PLACES = {
  captions: "Write captions of your own, some with it and some without, beside an image of your own.",
  others: "In an image of your own, choose Name and draw a box around what stays.",
};

/** That no caption of the pool names what is gone. */
const none = ({ captions, own }, removed) => `none of ${own ? "your" : "the"} ${captions.toLocaleString("en")} captions names ${removed.length > 1 ? "them" : "it"}.`;

/** How many captions name one of these classes. */
const naming = (captions, classes) => captions.filter(({ parts }) => (parts ?? []).some((part) => part.classes.some((name) => classes.includes(name)))).length;

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

/** Progress of models that encode a dataset's captions in the background, so that later questions are answered at once. */
class Reading {
  constructor() {
    this.said = el("p", { class: "rs-note", role: "status" });
    this.bar = el("progress", { class: "rs-progress", max: 1, value: 0, "aria-label": "Captions read so far" });
    this.node = el("div", { class: "rs-stack rs-background", hidden: true }, this.said, this.bar);
    this.poll = new Poll(() => this.ask(), (error) => error && say(this.said, error.message), this.node);
  }

  begin({ dataset, models }) {
    this.poll.stop();
    Object.assign(this, { dataset, titles: new Map(models.map(({ name, title }) => [name, title])), seen: false });
    this.node.hidden = this.bar.hidden = false;
    this.bar.value = 0;
    say(this.said, `${BEFORE} The models are being loaded for your own queries …`);
    this.poll.start();
    this.poll.schedule(600); // what has them encoded has arrived by then
  }

  hide() {
    this.poll.stop();
    this.node.hidden = true;
  }

  async ask() {
    const { encoding } = await json("objects/encoding");
    const going = encoding.filter((job) => job.dataset === this.dataset && this.titles.has(job.model));
    if (going.length) this.show(going);
    else this.end();
    return true;
  }

  show(going) {
    const left = going.reduce((sum, job) => sum + 1 - job.fraction, 0);
    this.bar.value = Math.max(this.bar.value, 1 - left / this.titles.size);
    const same = new Set(going.map((job) => job.message)).size === 1;
    const titles = going.map((job) => this.titles.get(job.model));
    const said = same ? `${titles.join(" and ")}: ${going[0].message}` : going.map((job, i) => `${titles[i]}: ${job.message}`).join("; ");
    say(this.said, `${BEFORE} Getting ready for your own queries: ${said}.`);
  }

  end() {
    this.poll.stop();
    this.bar.hidden = true;
    say(this.said, "All captions are read: your own queries are answered at once.");
  }
}

const HEAD = ["image", "removed", "fill", "model", "for", "rank", "similarity", "verdict", "change", "caption"];

/** Rows of a reply to a query as a table, the head first: one per model, image and rank. */
function captionRows(reply) {
  const rows = reply.models.flatMap((model) => ["removed", "original"].flatMap((side) => model[side].map((caption, rank) => row(reply, model, side, caption, rank))));
  return [HEAD, ...rows];
}

function row(reply, model, side, caption, rank) {
  const change = side === "original" ? (model.left.includes(rank) ? "left" : "stayed") : (caption.move ?? 0);
  const about = side === "original" ? "original image" : "filled image";
  return [reply.image, reply.removed.join("; "), reply.fill_title, model.title, about, rank + 1, caption.similarity, caption.verdict, change, caption.text];
}
