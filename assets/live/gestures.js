// Pointer, wheel and keys on one map: turns them into zoom, pan, hover, choose and lasso.

import { el } from "../common/dom.js";

const TAP = 5; // px a finger or mouse may move and still mean a click
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * `act`: {zoom(pixel, factor), pan(dx, dy), reset(), hover(pixel | null), choose(pixel, radius, finger: is it one), lasso(polygon),
 * move(dx, dy), enter(), escape(), whole(): is everything in view}.
 */
export class Gestures {
  constructor(plot, act) {
    this.plot = plot;
    this.act = act;
    this.down = new Map();
    this.lassoing = false;
    this.outline = el("polygon");
    this.sheet = el("svg", { class: "rs-layer rs-lasso", "aria-hidden": "true" }, this.outline);
    plot.append(this.sheet);
    plot.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    plot.addEventListener("pointerdown", (event) => this.press(event));
    plot.addEventListener("pointermove", (event) => this.drag(event));
    plot.addEventListener("pointerup", (event) => this.release(event));
    plot.addEventListener("pointercancel", (event) => this.cancel(event));
    plot.addEventListener("pointerleave", ({ pointerType }) => pointerType === "touch" || this.down.size || act.hover(null)); // a finger that is lifted leaves too
    plot.addEventListener("dblclick", (event) => {
      event.preventDefault();
      act.reset();
    });
    plot.addEventListener("keydown", (event) => this.key(event));
  }

  /** The next drag draws a lasso, as with shift held down. */
  arm(on) {
    this.lassoing = on;
    this.plot.classList.toggle("rs-lassoing", on);
  }

  pixel(event) {
    const box = this.plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    if (this.act.whole() && step > 0) return; // nothing to zoom out of: the page scrolls on
    event.preventDefault();
    this.act.zoom(this.pixel(event), Math.exp(-step * (event.ctrlKey ? 0.01 : 0.0018)));
  }

  press(event) {
    if (event.button !== 0) return;
    const at = this.pixel(event);
    this.down.set(event.pointerId, { at, from: at });
    this.plot.setPointerCapture(event.pointerId);
    this.moved = this.down.size > 1;
    this.path = this.down.size === 1 && (event.shiftKey || this.lassoing) ? [at] : null;
  }

  drag(event) {
    const finger = this.down.get(event.pointerId);
    const at = this.pixel(event);
    if (!finger) {
      if (event.pointerType !== "touch") this.act.hover(at);
      return;
    }
    const before = finger.at;
    finger.at = at;
    if (Math.hypot(at[0] - finger.from[0], at[1] - finger.from[1]) > TAP) this.moved = true;
    if (this.down.size === 2) this.pinch(event.pointerId, before, at);
    else if (this.path) this.draw(at);
    else if (this.moved) this.act.pan(at[0] - before[0], at[1] - before[1]);
  }

  pinch(id, before, at) {
    const other = [...this.down].find(([key]) => key !== id)[1].at;
    const was = Math.hypot(before[0] - other[0], before[1] - other[1]);
    const is = Math.hypot(at[0] - other[0], at[1] - other[1]);
    if (was > 4) this.act.zoom([(at[0] + other[0]) / 2, (at[1] + other[1]) / 2], is / was);
  }

  draw(at) {
    this.path.push(at);
    this.outline.setAttribute("points", this.path.map((pixel) => pixel.join(",")).join(" "));
  }

  release(event) {
    const finger = this.down.get(event.pointerId);
    if (!finger) return;
    const path = this.path;
    this.cancel(event);
    if (path && path.length > 3) this.act.lasso(path);
    else if (!this.moved) this.act.choose(finger.at, event.pointerType === "touch" ? 22 : 12, event.pointerType === "touch");
  }

  cancel(event) {
    this.down.delete(event.pointerId);
    this.path = null;
    this.outline.removeAttribute("points");
  }

  key(event) {
    const { act } = this;
    const keys = {
      Enter: act.enter,
      " ": act.enter,
      Escape: act.escape,
      "+": () => act.zoom(null, 1.4),
      "=": () => act.zoom(null, 1.4),
      "-": () => act.zoom(null, 1 / 1.4),
      0: act.reset,
    };
    const arrow = ARROWS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !(arrow || keys[event.key])) return;
    event.preventDefault();
    if (arrow) act.move(...arrow);
    else keys[event.key]();
  }
}
