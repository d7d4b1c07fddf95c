// An image without an object, over the original: a divider that is a slider shows how much of each.

import { base } from "../common/api.js";
import { el, say } from "../common/dom.js";
import { save } from "../common/files.js";
import { button } from "../common/fields.js";
import { listed, percent } from "../common/measures.js";
import { fraction, Stage } from "../common/stage.js";

const SIDE = 768;

export function mount(element, { value, watch }) {
  const filled = new Filled();
  element.querySelector(".rs-beforeafter").replaceChildren(filled.node);
  const show = () => filled.take(value());
  watch(show);
  show();
}

class Filled {
  constructor() {
    this.title = el("h3", { text: "Without it" });
    this.about = el("p", { class: "rs-note rs-sideabout" });
    this.top = el("img", { class: "rs-layer rs-image rs-before", alt: "", draggable: "false", "aria-hidden": "true" });
    this.divider = [el("span", { class: "rs-divider", "aria-hidden": "true" }), el("span", { class: "rs-grip", "aria-hidden": "true" })];
    this.range = el("input", { type: "range", class: "rs-layer rs-compare", min: 0, max: 100, step: 1, value: 0, "aria-label": "How much of the original shows, from the left" });
    this.range.addEventListener("input", () => this.reveal(this.range.valueAsNumber));
    this.stage = new Stage(this.top, this.range, ...this.divider);
    this.stage.node.classList.add("rs-comparing");
    this.drag();
    this.whole = button("Show the original", () => this.reveal(this.range.valueAsNumber > 50 ? 0 : 100));
    this.whole.setAttribute("aria-pressed", "false");
    this.save = button("Image", () => this.download());
    this.save.setAttribute("aria-label", "Download the filled image");
    this.hint = el("p", { class: "rs-note rs-hint" });
    this.bar = el("progress", { class: "rs-progress", hidden: true, "aria-label": "Filling" }); // how far it is nobody tells
    const head = el("header", { class: "rs-flow" }, this.title, this.about);
    const foot = el("div", { class: "rs-stack rs-tight rs-foot" }, this.bar, this.hint, el("div", { class: "rs-flow rs-tight rs-drawing" }, this.whole, this.save));
    this.node = el("section", { class: "rs-side", "aria-label": "Image without the object" }, head, this.stage.node, foot);
    this.reveal(0);
  }

  /** Anywhere on the image moves the divider; up and down still scrolls the page. */
  drag() {
    const { frame } = this.stage;
    const follow = (event) => this.reveal(Math.round(fraction(event, frame)[0] * 100));
    frame.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      frame.setPointerCapture(event.pointerId);
      this.range.focus({ preventScroll: true });
      follow(event);
      event.preventDefault();
    });
    frame.addEventListener("pointermove", (event) => frame.hasPointerCapture(event.pointerId) && follow(event));
  }

  reveal(part) {
    this.range.value = part;
    this.range.setAttribute("aria-valuetext", `${part} % original`);
    this.stage.frame.style.setProperty("--part", `${part}%`);
    this.whole?.setAttribute("aria-pressed", String(part > 50));
  }

  /** `value`: {image, prompt, removed} of an image of which nothing is removed yet, {image, reply} afterwards. */
  take(value) {
    if (!value) return;
    const { image, reply, prompt, removed } = value;
    if (image.ref !== this.image?.ref) this.show(image);
    if (reply) this.fill(reply, `${base()}/objects/filled/${encodeURIComponent(reply.filled)}`);
    else this.wait(prompt, removed);
  }

  /** Another image: nothing is filled yet. */
  show(image) {
    this.image = image;
    this.stage.shape(image.width, image.height);
    this.url = `${base()}/objects/image/${encodeURIComponent(image.ref)}/pixels?side=${SIDE}`;
    this.top.src = this.url;
  }

  /** Nothing is filled: `prompt` says what to do, or `removed` is being taken out. */
  wait(prompt, removed) {
    this.key = null;
    this.stage.show(this.url, "");
    this.save.disabled = true;
    this.reveal(0);
    say(this.title, removed?.length ? `Without the ${listed(removed)}` : "Without it");
    say(this.about, removed?.length ? "filling …" : "");
    this.bar.hidden = !(removed?.length && prompt);
    this.prompt(prompt);
    say(this.hint, "");
  }

  prompt(text) {
    this.stage.note.hidden = !text;
    say(this.stage.note, text ?? "");
  }

  /** The reply of the server; `url` of its filled image, decoded before it is shown, so that nothing flashes. */
  async fill(reply, url) {
    const same = this.key === reply.filled;
    this.key = reply.filled;
    const image = new Image();
    image.src = url;
    await image.decode().catch(() => {});
    if (this.key !== reply.filled) return;
    this.stage.show(url, `${this.image.alt || "The image"}, without the ${listed(reply.removed)}`);
    if (!same) this.reveal(0);
    this.prompt("");
    this.bar.hidden = true;
    this.save.disabled = false;
    say(this.title, `Without the ${listed(reply.removed)}`);
    say(this.about, `${percent(reply.share)} of the image filled, ${reply.fill_title} ${duration(reply.fill_ms)}`);
    say(this.hint, reply.problems.join(" ") || "Drag across the image to compare.");
    this.hint.classList.toggle("rs-warning", reply.problems.length > 0);
  }

  async download() {
    const reply = await fetch(this.stage.image.src);
    if (reply.ok) save(await reply.blob(), `rankscope-${this.title.textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.png`);
    else say(this.hint, "The server has dropped this image. Press the object again, then download.");
  }
}

const duration = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.max(1, Math.round(ms))} ms`);
