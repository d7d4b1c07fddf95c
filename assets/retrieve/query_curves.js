// Precision against recall of the query, and its counterpart over the label tree; their areas are scores of the query.

import { Chart, curve, edge, named, titled } from "../common/chart.js";
import { el, figure } from "../common/dom.js";
import { look, swatch } from "./places.js";

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
    this.chart = new Chart();
    this.readings = el("ul", { class: "rs-flow rs-readings" });
    this.node = el("figure", { class: "rs-curve rs-prcurve" }, el("figcaption", {}, el("span", { text: kind.title }), this.readings), el("div", {}, el("div", { class: "rs-plotbox" }, this.chart.node), el("p", { class: "rs-note", text: kind.note })));
  }

  /** `arms`: [place, answer of the arm]. Returns whether there is a curve. */
  show(arms, answer) {
    const drawn = arms.flatMap(([place, arm]) => {
      const curve = (arm?.reranked ?? arm?.ranking)?.curves?.[this.kind.name];
      return curve ? [{ place, curve }] : [];
    });
    this.chart.show(() => drawing(drawn));
    const title = answer.scores.find(({ key }) => key === this.kind.score)?.title ?? "";
    this.readings.replaceChildren(...drawn.map(({ place, curve }) => el("li", { class: "rs-flow" }, swatch(place.place), el("span", { class: "rs-note", text: `${title} ` }, el("b", { text: figure(curve.area) })))));
    const words = drawn.map(({ place, curve }) => `${place.title}${place.of && ` of ${place.of}`} ${figure(curve.area)}`);
    this.chart.say(`${this.kind.title}, area: ${words.join(", ")}`);
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

/** Step functions: the precision holds from the recall before to its own. The first arm lies on top. */
function drawing(drawn) {
  const lines = drawn.toReversed().map(({ place, curve: whole }) => {
    const { recall, precision } = smooth(whole);
    const { colour, dash } = look(place.place);
    return curve([[0, precision[0]], ...recall.map((end, i) => [end, precision[i]])], colour, { curve: "step-before", strokeDasharray: dash });
  });
  const across = titled([0, 1], null, { tickFormat: (recall) => (recall ? "1" : "recall 0") });
  return { height: 186, marginBottom: 24, x: { domain: [0, 1] }, y: { domain: [0, 1] }, marks: [edge(), named([0, 1]), across, ...lines] };
}
