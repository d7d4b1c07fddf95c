// Drawings of the tab: redrawn at the width they have, and saved as PNG with their title.

import { el } from "../common/dom.js";
import { iconButton } from "../common/fields.js";
import { savePng } from "../common/files.js";
import { SCALE, drawSvg } from "../common/svg_image.js";

const HEAD = 34; // pixels above a saved drawing, for its title
const EDGE = 12;

/** A figure with a title and a drawing of the width that there is: `draw(width)` returns {height, shapes, words}. */
export class Picture {
  constructor(title, name, draw) {
    Object.assign(this, { title, name, draw, width: 0 });
    this.svg = el("svg", { role: "img", class: "rs-drawing" });
    const download = iconButton("down", `Save "${title}" as a picture (PNG)`, () => this.png());
    this.node = el("figure", { class: "rs-panel rs-picturebox" }, el("figcaption", { class: "rs-flow" }, el("span", { text: title }), download), this.svg);
    new ResizeObserver(() => this.again()).observe(this.node);
  }

  /** Draw anew where the width has changed. */
  again() {
    const width = Math.floor(this.svg.clientWidth || this.node.clientWidth - 26);
    if (width > 0 && width !== this.width) this.update();
  }

  update() {
    const width = Math.floor(this.svg.clientWidth || this.node.clientWidth - 26);
    if (width <= 0) return;
    this.width = width;
    const { height, shapes, words } = this.draw(width);
    this.height = height;
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, height, "aria-label": `${this.title}. ${words}` })) this.svg.setAttribute(name, value);
    this.svg.replaceChildren(...shapes);
  }

  async png() {
    const [across, up] = [this.width + 2 * EDGE, this.height + HEAD + EDGE];
    const page = el("canvas", { width: across * SCALE, height: up * SCALE });
    const pen = page.getContext("2d");
    pen.scale(SCALE, SCALE);
    const { backgroundColor, color } = getComputedStyle(this.node);
    pen.fillStyle = backgroundColor;
    pen.fillRect(0, 0, across, up);
    await drawSvg(pen, this.svg, { left: EDGE, top: HEAD, width: this.width, height: this.height });
    pen.fillStyle = color;
    pen.font = "600 14px system-ui, sans-serif";
    pen.fillText(this.title, EDGE, 24, this.width);
    savePng(page, `rankscope-${this.name}`);
  }
}

/** Round numbers within [low, high], at most about `count`. */
export function ticks(low, high, count = 4) {
  const rough = (high - low) / Math.max(2, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** Limits with some room around values; null where there are none. */
export function span(values) {
  const known = values.filter((value) => Number.isFinite(value));
  if (!known.length) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = high > low ? 0.06 * (high - low) : Math.max(Math.abs(low) * 0.05, 0.01);
  return [low - room, high + room];
}

/** A text of at most about `width` pixels. */
export function fitting(text, width, letter) {
  const most = Math.max(3, Math.floor(width / letter));
  return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}
