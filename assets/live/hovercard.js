// The small card that floats beside the point under the cursor.

import { el, grouped, say } from "../common/dom.js";
import { brief } from "../common/names.js";
import { pathOf, thumbnail, shownNames } from "../common/thumbnails.js";
import { ringedAttribute } from "./overlays.js";

export class HoverCard {
  constructor() {
    this.image = el("span", { class: "rs-picture" });
    this.name = el("strong", { class: "rs-clamp" });
    this.path = el("span", { class: "rs-clamp rs-note" });
    this.known = el("span", { class: "rs-clamp rs-note" });
    this.node = el("div", { class: "rs-popup rs-hover", "aria-hidden": "true", hidden: true }, this.image, el("div", {}, this.name, this.path, this.known));
  }

  /** Show image `i` beside `[x, y]`, in CSS pixels of a host `width` wide; stays inside it. */
  show(run, i, [x, y], width) {
    this.fill(run, i, shownNames(run, i)[0], pathOf(run, i), ringed(run, i), [x, y], width);
  }

  /** Show a class of `count` images, of which `i` is one. */
  showClass(run, i, name, above, count, [x, y], width) {
    this.fill(run, i, brief(name), [above, `${grouped(count)} ${count === 1 ? "image" : "images"}`].filter(Boolean).join(" · "), "", [x, y], width);
  }

  fill(run, i, name, path, known, [x, y], width) {
    thumbnail(this.image, run, i);
    say(this.name, name);
    say(this.path, path);
    say(this.known, known);
    this.node.hidden = false;
    const own = this.node.offsetWidth;
    const left = x + 16 + own > width ? x - 16 - own : x + 16;
    this.node.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, y - this.node.offsetHeight / 2)}px)`;
  }

  hide() {
    this.node.hidden = true;
    for (const part of [this.name, this.path, this.known]) say(part, "");
  }
}

/** Of a point with a ring, what is known beside its classes: "label noise: changed · given pot: wide jar". */
function ringed(run, i) {
  const one = ringedAttribute(run);
  if (!one || one.values[i] !== one.ringed) return "";
  const shown = run.attributes.filter((each) => each.ringed !== undefined || each.level !== undefined);
  return shown.map(({ name, names, values, level }) => `${brief(name)}: ${brief((level === undefined ? names : run.names[level])[values[i]])}`).join(" · ");
}
