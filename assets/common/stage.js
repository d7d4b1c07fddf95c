// An image on a stage of fixed height. What lies over the image is placed in percent of it, so it needs no redraw.

import { clamp, el } from "./dom.js";

export class Stage {
  constructor(...layers) {
    this.image = el("img", { class: "rs-layer rs-image", alt: "", draggable: "false" });
    this.frame = el("div", { class: "rs-frame" }, this.image, ...layers);
    this.note = el("p", { class: "rs-stagenote", hidden: true });
    this.node = el("div", { class: "rs-stage" }, this.frame, this.note);
  }

  /** `width`, `height` of the upright image, in any unit. */
  shape(width, height) {
    this.ratio = width / height;
    this.frame.style.setProperty("--ratio", this.ratio.toFixed(5));
  }

  show(url, alt) {
    this.image.alt = alt;
    if (this.image.getAttribute("src") !== url) this.image.src = url;
  }

  /** Radius of a brush as a share of the image's width and of its height, from one of its longer side. */
  spread(radius) {
    return this.ratio >= 1 ? [radius, radius * this.ratio] : [radius / this.ratio, radius];
  }
}

/** Put a node over a box [x0, y0, x1, y1] of the image, in fractions. */
export function over(node, [x0, y0, x1, y1]) {
  const part = (value) => `${(value * 100).toFixed(3)}%`;
  Object.assign(node.style, { left: part(x0), top: part(y0), width: part(x1 - x0), height: part(y1 - y0) });
  return node;
}

/** Where the pointer is on a node, in fractions of it. */
export function fraction(event, node) {
  const area = node.getBoundingClientRect();
  return [clamp((event.clientX - area.left) / area.width, 0, 1), clamp((event.clientY - area.top) / area.height, 0, 1)];
}
