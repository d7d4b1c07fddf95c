// Results in rows: under an arm's title a strip of tiles, each an image and how much of its classes agrees.

import { el, figure, say, swatch } from "./dom.js";
import { brief } from "./names.js";
import { severity } from "./palette.js";
import { thumbnail } from "./thumbnails.js";

export const armHeading = (arm, title, ...more) => el("h4", { class: "rs-flow" }, swatch(arm), el("span", { text: title }), ...more);

export const strip = (label, ...items) => el("ol", { class: "rs-strip", tabindex: "0", "aria-label": label }, ...items);

/** ", similarity 0.812", or nothing where it is not known. */
export const similarity = (value) => (Number.isFinite(value) ? `, similarity ${figure(value)}` : "");

/** A tile stays and changes its content, so that nothing blinks when a frame arrives. */
export class Tile {
  /** `tag` of the tile itself: a button, or what cannot be pressed. */
  constructor(tag, props = {}) {
    this.id = null;
    this.mark = el("span", { class: "rs-mark", "aria-hidden": "true" });
    this.word = el("span", { class: "rs-clamp rs-severity" });
    this.image = el("span", { class: "rs-picture" }, this.mark);
    this.press = el(tag, { class: "rs-tile", ...props }, this.image, this.word);
    this.node = el("li", {}, this.press);
  }

  /** Show image `id`, of which `shared` levels agree with the query's; null: not known. Returns the word for that. */
  show(run, id, shared) {
    const { kind, mark, word } = severity(run, shared);
    if (this.id !== id || this.run !== run) thumbnail(this.image, run, id);
    Object.assign(this, { id, run });
    this.press.dataset.severity = kind;
    say(this.mark, mark);
    say(this.word, brief(word));
    return brief(word);
  }
}
