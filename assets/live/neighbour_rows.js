// The chosen image, and under each loss its ten nearest neighbours: mark, word, colour. Same rank, same column.

import * as api from "../common/api.js";
import { el, onPoint, say } from "../common/dom.js";
import { button } from "../common/fields.js";
import { brief } from "../common/names.js";
import { originalButton } from "../common/original.js";
import { severity } from "../common/palette.js";
import { pathOf, thumbnail, shownNames, imageLabel, tooltipOf } from "../common/thumbnails.js";
import { contrast } from "./contrast.js";
import { armHeading, similarity, strip, Tile } from "../common/tiles.js";
import { UntrainedRows } from "../common/untrained_rows.js";

const RANKS = 10;
const ONE_LINE = 13; // letters of a severity that fit below a tile
const EMPTY = "Neighbours appear with the first frame.";

/** `on`: {hover(i | null), choose(i), search(i)}. */
export class NeighbourRows {
  constructor(on) {
    this.on = on;
    this.query = el("span", { class: "rs-picture rs-query", role: "img" });
    this.name = el("h3", { class: "rs-clamp" });
    this.path = el("p", { class: "rs-clamp rs-note rs-path" });
    this.rows = el("div", { class: "rs-stack rs-rows" });
    this.contrast = el("p", { class: "rs-contrast" });
    this.untrained = new UntrainedRows((i) => this.on.choose(i));
    this.search = button("Retrieve", () => this.on.search(this.shown));
    this.search.title = "Search the gallery with this image";
    this.original = originalButton(this.query, () => ({ run: this.run.id, row: this.shown }));
    const about = el("div", { class: "rs-about" }, this.query, el("div", {}, this.name, this.path, el("div", { class: "rs-flow rs-tight" }, this.search, this.original)));
    this.note = el("p", { class: "rs-note", text: EMPTY });
    this.body = el("div", { class: "rs-neighbours", hidden: true }, about, el("div", { class: "rs-stack rs-tight rs-results" }, this.contrast, this.rows, this.untrained.node));
    this.node = el("section", { class: "rs-panel", "aria-label": "Nearest neighbours" }, this.note, this.body);
  }

  load(run) {
    this.run = run;
    this.shown = this.telling = null;
    this.lists = [];
    this.arms = run.arms.map((arm, i) => this.row(arm.title, i));
    this.rows.replaceChildren(...this.arms.map((row) => row.node));
    this.rows.style.setProperty("--rs-words", run.words.every((word) => word.length <= ONE_LINE) ? 1 : 2);
    this.search.hidden = this.original.hidden = !run.searched;
    this.query.classList.toggle("rs-opens", run.searched);
    this.asked?.abort();
    // nothing of the run before stays, in sight or not
    for (const node of [this.name, this.path, this.contrast]) say(node, "");
    this.name.removeAttribute("title");
    this.query.removeAttribute("aria-label");
    this.query.style.backgroundImage = "";
    this.body.hidden = true;
    this.note.hidden = false;
    say(this.note, EMPTY);
  }

  row(title, arm) {
    const summary = el("span", { class: "rs-note rs-summary" });
    const tiles = Array.from({ length: RANKS }, () => this.tile());
    const list = strip(`Ten nearest under ${title}`, ...tiles.map((tile) => tile.node));
    return { node: el("div", { class: "rs-row" }, armHeading(arm, title, summary), list), summary, tiles };
  }

  tile() {
    const tile = new Tile("button", { type: "button" });
    tile.press.addEventListener("click", () => tile.id !== null && this.on.choose(tile.id));
    onPoint(tile.press, (pointed) => this.on.hover(pointed ? tile.id : null));
    return tile;
  }

  /** At frame `k` the losses differ most about `index`. */
  suggested(k, index) {
    this.telling = { k, index };
  }

  /** Fetch and show the neighbours of `index` at frame `k`. Returns once they are on the page. */
  async show(k, index) {
    this.asked?.abort();
    this.asked = new AbortController();
    const { run } = this;
    if (this.shown !== index) this.about(index);
    this.shown = index;
    try {
      const reply = await api.neighbours(run.id, k, index, this.asked.signal);
      if (run !== this.run || this.shown !== index) return;
      this.lists = reply.arms;
      reply.arms.forEach((arm, i) => this.fill(this.arms[i], arm));
      say(this.contrast, contrast(run, reply, k === this.telling?.k && index === this.telling.index));
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error.message);
    }
  }

  about(index) {
    const { run } = this;
    this.untrained.show(run, index);
    thumbnail(this.query, run, index).setAttribute("aria-label", imageLabel(run, index));
    say(this.name, shownNames(run, index)[0]);
    say(this.path, pathOf(run, index));
    this.name.title = tooltipOf(run, index);
    this.note.hidden = true;
    this.body.hidden = false;
  }

  fail(sentence) {
    this.note.hidden = false;
    say(this.note, `The neighbours could not be read: ${sentence}`);
  }

  fill(row, arm) {
    const { run } = this;
    const worst = severity(run, Math.min(...arm.shared));
    const values = arm.scores.map(({ title, value }) => `${title} ${value.toFixed(2)} · `).join("");
    say(row.summary, worst.word ? `${values}worst of ten: ${brief(worst.word)}` : "nearest first; these images have no labels, which numbers and mistakes need");
    row.tiles.forEach((tile, rank) => {
      const id = arm.ids[rank];
      tile.node.hidden = id === undefined;
      if (id === undefined) return;
      const word = tile.show(run, id, arm.shared[rank]);
      const close = similarity(arm.similarity?.[rank]);
      tile.press.setAttribute("aria-label", `Rank ${rank + 1}${word && `, ${word}`}: ${shownNames(run, id).join(", ")}${close}`);
      tile.press.title = `${tooltipOf(run, id)}${close && `\n${close.slice(2)}`}`;
    });
  }

  /** Mark the tiles that show point i, in every row. */
  mark(i) {
    for (const row of this.arms ?? []) {
      for (const tile of row.tiles) tile.press.classList.toggle("rs-same", i !== null && tile.id === i);
    }
  }
}
