// The images of a dataset as a strip that loads as it is scrolled; the visitor's own image by button, drop or paste.

import { arrows } from "../common/arrows.js";
import { el, grouped, reducedMotion, say } from "../common/dom.js";
import { whileSeen } from "../common/seen.js";
import * as api from "./api.js";
import { button, iconButton } from "../common/fields.js";

const PAGE = 24;
const SIDE = 128;
const AT_ONCE = 200; // the server sends no more in one reply
const FAR = 2000; // an image further on is shown without its place in the strip

/** `on`: {choose(ref), upload(file), fail(sentence)}. */
export class ImageStrip {
  constructor(on) {
    this.on = on;
    this.list = el("ul", { class: "rs-thumbs", "aria-label": "Images" });
    this.place = el("p", { class: "rs-note rs-place" });
    this.back = iconButton("back", "Previous image", () => this.step(-1), "rs-act rs-step");
    this.forward = iconButton("forward", "Next image", () => this.step(1), "rs-act rs-step");
    this.file = el("input", { type: "file", accept: "image/*", class: "rs-unseen", tabindex: "-1", "aria-hidden": "true", onchange: () => this.fileChosen() });
    const upload = button("Your image", () => this.file.click());
    upload.title = "Choose a file, drop one on the image, or paste one";
    const end = el("div", {}, upload, this.file);
    this.node = el("div", { class: "rs-images" }, this.back, this.list, this.forward, this.place, end);
    this.list.addEventListener("scroll", () => this.isNearEnd() && this.loadMore());
    arrows(this.list);
    this.items = [];
    this.total = 0;
    whileSeen(this.node, this);
  }

  fileChosen() {
    const [file] = this.file.files;
    this.file.value = "";
    if (file) this.on.upload(file);
  }

  async load(dataset) {
    const turn = (this.turn = {});
    Object.assign(this, { dataset, items: [], total: Infinity, reading: false });
    this.list.replaceChildren(...Array.from({ length: 12 }, () => el("li", { class: "rs-thumb rs-placeholder" })));
    await this.loadMore(turn);
  }

  isNearEnd() {
    return this.list.hasChildNodes() && this.list.scrollLeft + this.list.clientWidth * 2 > this.list.scrollWidth; // empty: it was dropped
  }

  async loadMore(turn = this.turn, count = PAGE) {
    if (this.reading || this.items.length >= this.total) return;
    this.reading = true;
    let read = false;
    try {
      const reply = await api.images(this.dataset, this.items.length, count);
      if (turn !== this.turn) return;
      if (!this.items.length) this.list.replaceChildren();
      this.total = reply.images.length ? reply.total : this.items.length;
      for (const image of reply.images) this.add(image);
      this.mark(this.chosen);
      read = true;
    } catch (error) {
      if (turn === this.turn) this.on.fail(error.message);
    } finally {
      if (turn === this.turn) this.reading = false;
    }
    if (read) await this.loadToCurrent(turn);
  }

  /** Read on until the shown image is in the strip. */
  async loadToCurrent(turn = this.turn) {
    const short = this.number + 1 - this.items.length;
    if (!this.items.length || short <= 0 || this.number >= FAR) return;
    await this.loadMore(turn, Math.min(AT_ONCE, short + PAGE));
  }

  add(about) {
    const press = this.press(about);
    this.items.push({ ...about, press });
    this.list.append(el("li", {}, press));
  }

  drop() {
    this.list.replaceChildren();
  }

  draw() {
    const { items } = this;
    if (!items.length) return;
    this.items = [];
    this.drop();
    for (const about of items) this.add(about);
    this.mark(this.chosen);
  }

  press({ ref, alt, classes }) {
    const image = el("img", { src: api.imageUrl(ref, SIDE), alt: alt || `Image ${this.items.length + 1}`, loading: "lazy", draggable: "false" });
    return el("button", { type: "button", class: "rs-thumb", "aria-pressed": "false", title: classes.join(", "), onclick: () => this.on.choose(ref) }, image);
  }

  /** Mark the image that is shown; it may come from elsewhere and be in no strip. */
  mark(ref) {
    this.chosen = ref;
    const at = this.at;
    this.items.forEach((item, i) => item.press.setAttribute("aria-pressed", String(i === at)));
    this.back.disabled = at === 0;
    this.forward.disabled = at === this.total - 1;
    const number = this.number + 1;
    say(this.place, Number.isFinite(this.total) ? `${number ? grouped(number) : "–"} of ${grouped(this.total)}` : "");
    if (at >= 0) this.reveal(this.items[at].press);
    else this.loadToCurrent();
  }

  reveal(node) {
    const [box, view] = [node.getBoundingClientRect(), this.list.getBoundingClientRect()];
    if (box.left >= view.left && box.right <= view.right) return;
    const left = box.left - view.left - view.width / 2;
    const far = Math.abs(left) > 2 * view.width; // the images passed on the way need not be drawn
    this.list.scrollBy({ left, behavior: far || reducedMotion() ? "auto" : "smooth" });
  }

  /** Place of the shown image in the dataset, from 0; -1 if it is a visitor's own. */
  get number() {
    const prefix = `${this.dataset}.`;
    return this.chosen?.startsWith(prefix) ? Number(this.chosen.slice(prefix.length)) : -1;
  }

  get at() {
    return this.items.findIndex((item) => item.ref === this.chosen);
  }

  async step(by) {
    const next = this.at + by;
    if (next >= this.items.length) await this.loadMore();
    const item = this.items[Math.max(0, next)];
    if (item) this.on.choose(item.ref);
  }
}
