// The images of a gallery as a strip to choose a query from: found by the name of a class, one after the other, by chance.

import { arrows } from "../common/arrows.js";
import { clamp, el, grouped, say } from "../common/dom.js";
import { button, field, iconButton, text } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { whileSeen } from "../common/seen.js";
import { namesOf, thumbnail } from "../common/thumbnails.js";
import * as api from "./api.js";

const PAGE = 24;
const BEFORE = 4; // images shown before one that is far from those in the strip
const TYPED = 250; // ms without a key before the classes are searched

/** `on`: {choose(row), fail(sentence)}; `more`: nodes at the end of the line of controls. */
export class Picker {
  constructor(on, ...more) {
    this.on = on;
    this.words = text("Any class", { type: "search", oninput: () => this.typed(), onkeydown: (event) => event.key === "Enter" && this.find(true) });
    this.back = iconButton("back", "Previous image", () => this.step(-1), "rs-act rs-step");
    this.forward = iconButton("forward", "Next image", () => this.step(1), "rs-act rs-step");
    this.random = button("Random", () => this.go(Math.floor(Math.random() * this.total)));
    this.place = el("p", { class: "rs-note rs-place", role: "status" });
    this.list = el("ul", { class: "rs-picks", "aria-label": "Images to search with" });
    this.list.addEventListener("scroll", () => this.isNearEnd() && this.loadMore());
    arrows(this.list);
    const search = field("Search with an image of", this.words, { class: "rs-field rs-classname" });
    const line = el("div", { class: "rs-flow rs-pickline" }, search, this.random, this.back, this.forward, this.place, ...more);
    this.selected = el("p", { class: "rs-flow rs-note", role: "status", hidden: true });
    this.node = el("div", { class: "rs-stack rs-tight" }, line, this.selected, this.list);
    whileSeen(this.node, this);
    Object.assign(this, { total: 0, begin: 0, items: [], at: null });
  }

  /** The images of a gallery of a run; `images` paints them. */
  async load(run, gallery, images, row) {
    Object.assign(this, { run, gallery, images, row });
    this.narrow(null);
    await this.read(0, row);
  }

  /** Offer some images alone, points of the maps of `run`; null: all of the gallery. */
  async only(points, run = null) {
    this.narrow(points, run);
    await this.read(0, this.row);
  }

  narrow(points, mapped = null) {
    Object.assign(this, { points, mapped });
    this.selected.hidden = !points;
    const all = button("All images", () => this.only(null));
    const words = points?.length === 1 ? "Only the selected image is offered." : `Only the ${grouped(points?.length ?? 0)} selected images are offered.`;
    this.selected.replaceChildren(...(points ? [el("span", { text: words }), all] : []));
  }

  typed() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.find(false), TYPED);
  }

  async find(take) {
    clearTimeout(this.later);
    await this.read(0, this.row);
    if (take && this.items.length) this.on.choose(this.items[0].row);
  }

  /** Read the strip from a place on; where `row` stands among all of them is told along. */
  async read(offset, row = null) {
    const turn = (this.turn = {});
    try {
      const reply = await this.ask(offset, row);
      if (turn !== this.turn) return;
      Object.assign(this, { total: reply.total, begin: offset, items: [] });
      this.list.replaceChildren();
      this.add(reply.rows);
      this.list.scrollLeft = 0;
      this.at = reply.place;
      const far = this.at !== null && offset === 0 && this.at >= PAGE;
      if (far) return await this.read(this.at - BEFORE, row);
      this.mark();
    } catch (error) {
      if (turn === this.turn) this.on.fail(error.message);
    }
  }

  ask(offset, row = null) {
    if (this.points) return this.page(offset, row);
    return api.rows(this.run, this.gallery, { text: this.words.value, offset, count: PAGE, row });
  }

  /** A page of the images that were selected, as the server gives one of all. */
  page(offset, row) {
    const words = this.words.value.trim().toLowerCase();
    const named = this.points.map((i) => [i, namesOf(this.mapped, i)]).filter(([, names]) => names.some((name) => name.toLowerCase().includes(words)));
    const place = named.findIndex(([i]) => i === row);
    return { total: named.length, rows: named.slice(offset, offset + PAGE), place: place < 0 ? null : place };
  }

  isNearEnd() {
    return this.list.hasChildNodes() && this.list.scrollLeft + this.list.clientWidth * 2 > this.list.scrollWidth; // empty: it was dropped
  }

  async loadMore() {
    const next = this.begin + this.items.length;
    if (this.reading || next >= this.total) return;
    this.reading = true;
    const { turn } = this;
    const reply = await this.ask(next).catch(() => null); // asked again with the next scroll
    this.reading = false;
    if (!reply || turn !== this.turn) return;
    this.add(reply.rows);
    this.mark();
  }

  add(rows) {
    for (const [row, classes] of rows) {
      const press = this.press(row, classes);
      this.items.push({ row, classes, press });
      this.list.append(el("li", {}, press));
    }
  }

  press(row, classes) {
    const image = thumbnail(el("span", { class: "rs-picture" }), this.images, row);
    const name = classes.map((cls) => brief(cls)).join(", ");
    return el("button", { type: "button", class: "rs-pick", "aria-pressed": "false", "aria-label": `Image ${row + 1}${name && `: ${name}`}`, title: classes.map(inFull).join("\n"), onclick: () => this.on.choose(row) }, image);
  }

  drop() {
    this.list.replaceChildren();
  }

  draw() {
    const { items } = this;
    this.items = [];
    this.drop();
    this.add(items.map(({ row, classes }) => [row, classes]));
    if (this.run) this.mark();
  }

  /** Mark the image that is searched with; null: it comes from elsewhere. */
  show(row) {
    this.row = row;
    const item = this.items.findIndex((item) => item.row === row);
    if (item >= 0) this.at = this.begin + item;
    else if (row === null) this.at = null;
    else return this.read(0, row);
    return this.mark();
  }

  mark() {
    let shown = null;
    for (const { row, press } of this.items) {
      press.setAttribute("aria-pressed", String(row === this.row));
      if (row === this.row) shown = press;
    }
    const none = `No class of ${this.points ? "these images" : "this gallery"} has “${brief(this.words.value, 40)}” in its name.`;
    say(this.place, this.total ? `${this.at === null ? "–" : grouped(this.at + 1)} of ${grouped(this.total)}` : this.words.value ? none : "");
    this.back.disabled = !this.total || this.at === 0;
    this.forward.disabled = !this.total || this.at === this.total - 1;
    this.random.disabled = !this.total;
    if (shown) this.reveal(shown);
  }

  reveal(node) {
    const [box, view] = [node.getBoundingClientRect(), this.list.getBoundingClientRect()];
    if (box.left < view.left || box.right > view.right) this.list.scrollLeft += box.left - view.left - view.width / 3;
  }

  step(by) {
    return this.go(this.at === null ? 0 : this.at + by);
  }

  /** Choose the image at a place of those that were found. */
  async go(place) {
    const at = clamp(place, 0, this.total - 1);
    const there = () => this.items[at - this.begin];
    if (!there()) await this.read(Math.max(0, at - BEFORE));
    if (there()) this.on.choose(there().row);
  }
}
