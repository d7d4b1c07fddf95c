// Precision against recall of the query, and its counterpart over the label tree; their areas are scores of the query.

import { el, figure } from "../common/dom.js";
import { look, swatch } from "./places.js";

const WIDTH = 300;
const HEIGHT = 150;
const STEPS = 40; // a curve with more of them is drawn as the mean precision of as many equal parts of recall
export class QueryCurves {
  constructor() {
    this.panels = [];
    this.list = el("div", { class: "rs-columns rs-prcurves" });
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Curves of the query", hidden: true }, this.list);
  }

  /** The server says which curves there are, what each shows, and which score its area is. */
  show(answer, places) {
    if (!this.panels.length) {
      this.panels = answer.curves.map((kind) => new CurvePanel(kind));
      this.list.replaceChildren(...this.panels.map((panel) => panel.node));
    }
    const arms = places.map((place) => [place, answer.arms.find((arm) => `${arm.run}.${arm.arm}` === place.key)]);
    const drawn = this.panels.map((panel) => panel.show(arms, answer));
    this.node.hidden = !drawn.some(Boolean);
  }
}

class CurvePanel {
  constructor(kind) {
    this.kind = kind;
    this.lines = el("g", {});
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, this.lines);
    this.readings = el("ul", { class: "rs-flow rs-readings" });
    const ticks = [["rs-high", "1"], ["rs-low", "0"]].map(([place, text]) => el("span", { class: `rs-note rs-tick ${place}`, text }));
    const across = el("p", { class: "rs-note rs-across" }, el("span", { text: "recall 0" }), el("span", { text: "1" }));
    this.node = el("figure", { class: "rs-curve rs-prcurve" }, el("figcaption", {}, el("span", { text: kind.title }), this.readings), el("div", {}, el("div", { class: "rs-plotbox" }, this.svg, ...ticks), across, el("p", { class: "rs-note", text: kind.note })));
  }

  /** `arms`: [place, answer of the arm]. Returns whether there is a curve. */
  show(arms, answer) {
    const drawn = arms.flatMap(([place, arm]) => {
      const curve = (arm?.reranked ?? arm?.ranking)?.curves?.[this.kind.name];
      return curve ? [{ place, curve }] : [];
    });
    this.lines.replaceChildren(...drawn.map(({ place, curve }) => path(curve, look(place.place))).reverse());
    const title = answer.scores.find(({ key }) => key === this.kind.score)?.title ?? "";
    this.readings.replaceChildren(...drawn.map(({ place, curve }) => el("li", { class: "rs-flow" }, swatch(place.place), el("span", { class: "rs-note", text: `${title} ` }, el("b", { text: figure(curve.area) })))));
    const words = drawn.map(({ place, curve }) => `${place.title}${place.of && ` of ${place.of}`} ${figure(curve.area)}`);
    this.svg.setAttribute("aria-label", `${this.kind.title}, area: ${words.join(", ")}`);
    this.node.hidden = !drawn.length;
    return drawn.length > 0;
  }
}

/** The same area in at most STEPS steps: a list of thousands of results goes up and down at every one of them. */
function smooth({ recall, precision }) {
  if (recall.length <= STEPS) return { recall, precision };
  const sums = new Array(STEPS).fill(0);
  recall.forEach((end, i) => {
    let begin = i ? recall[i - 1] : 0;
    while (begin < end) {
      const bin = Math.min(STEPS - 1, Math.floor(begin * STEPS + 1e-9));
      const edge = bin === STEPS - 1 ? end : Math.min(end, (bin + 1) / STEPS);
      sums[bin] += (edge - begin) * precision[i];
      begin = edge;
    }
  });
  return { recall: sums.map((_, bin) => (bin + 1) / STEPS), precision: sums.map((sum) => sum * STEPS) };
}

/** A step function: the precision holds from the recall before to its own. */
function path(curve, { colour, dash }) {
  const { recall, precision } = smooth(curve);
  const y = (value) => (HEIGHT - 3 - value * (HEIGHT - 6)).toFixed(2);
  const x = (value) => (value * WIDTH).toFixed(2);
  let d = "";
  recall.forEach((end, i) => {
    const begin = i ? recall[i - 1] : 0;
    d += `${i ? "L" : "M"}${x(begin)} ${y(precision[i])}L${x(end)} ${y(precision[i])}`;
  });
  return el("path", { d, class: `rs-line ${colour}`, "stroke-dasharray": dash || null });
}

