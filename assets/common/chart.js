// Charts, drawn by Observable Plot at the width that there is, and said in words for those who cannot see them.

import { axisX, axisY, frame, line, plot } from "../vendor/plot.js";
import { clamp, el } from "./dom.js";

// no axes but those that are asked for; the page's type; marks may reach over the edge
const LOOK = { axis: null, marginTop: 6, marginRight: 2, marginBottom: 3, marginLeft: 30, style: { fontSize: "12px", overflow: "visible" } };

/** A drawing in a box. It is drawn anew when the box gets another width, and not while the box is hidden. */
export class Chart {
  constructor(kind = "") {
    this.rule = el("line", { class: "rs-cursor" });
    this.node = el("div", { class: `rs-plotted ${kind}`, role: "img" });
    this.width = 0;
    new ResizeObserver(([{ contentRect }]) => this.fit(Math.floor(contentRect.width))).observe(this.node);
  }

  fit(width) {
    if (width === this.width) return;
    this.width = width;
    this.draw();
  }

  /** `options(width)`: of Observable Plot. */
  show(options) {
    this.options = options;
    this.draw();
  }

  draw() {
    if (!this.width || !this.options) return;
    this.svg = plot({ ...LOOK, width: this.width, ...this.options(this.width) });
    this.svg.setAttribute("aria-hidden", "true");
    this.node.replaceChildren(this.svg);
    this.cursor(this.at);
  }

  say(words) {
    this.node.setAttribute("aria-label", words);
  }

  /** A line up and down at a value of x; undefined: none. */
  cursor(x) {
    this.at = x;
    if (x === undefined) this.rule.remove();
    else if (this.svg) {
      const at = this.svg.scale("x").apply(x);
      const [y1, y2] = this.svg.scale("y").range;
      for (const [name, value] of Object.entries({ x1: at, x2: at, y1, y2 })) this.rule.setAttribute(name, value);
      this.svg.append(this.rule);
    }
  }

  /** The value of x under the pointer. */
  under(event) {
    const { domain, invert } = this.svg.scale("x");
    return clamp(invert(event.clientX - this.svg.getBoundingClientRect().left), ...domain);
  }
}

/** An axis up of which only some values are named, such as its two ends. */
export const named = (values, words = rounded) => axisY(values, { label: null, tickSize: 0, tickPadding: 5, tickFormat: words, color: "var(--rs-soft)" });

/** An axis across, with what it is about below it. */
export const titled = (values, label, options = {}) => axisX(values, { tickSize: 0, label, labelAnchor: "center", labelArrow: "none", color: "var(--rs-soft)", ...options });

/** The line at the bottom or on the left of a chart. */
export const edge = (anchor = "bottom") => frame({ anchor, stroke: "var(--rs-line)" });

/** A line through [x, y], of the classes `kind`; one point alone is a dot. */
export const curve = (points, kind, options = {}) => line(points, { className: `rs-line ${kind}${points.length === 1 ? " rs-alone" : ""}`, ...options });

export const rounded = (value) => String(Number(value.toFixed(2)));
