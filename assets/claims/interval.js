// A difference with its 95 % interval, its seeds, zero and the margin, and a table of its sides.

import { Chart } from "../common/chart.js";
import { el } from "../common/dom.js";
import { axisX, dot, ruleX, ruleY } from "../vendor/plot.js";

const HEIGHT = 58;
const COLOURS = { seen: "var(--rs-same)", "opposite seen": "var(--rs-none)" };

export class Interval {
  constructor(difference) {
    const { of, metric, title, words, verdict, sides } = difference;
    this.chart = new Chart();
    this.chart.show((width) => drawing(difference, width));
    this.chart.say(words);
    const rows = sides.map((side) => el("tr", {}, el("th", { scope: "row", text: side.title }), el("td", { text: written(side.mean, difference) }), el("td", { class: "rs-note", text: bounds(side, difference) })));
    const caption = el("figcaption", { class: "rs-claimdifference" }, el("strong", { text: difference.unit === "share" ? `${of}, %` : of }), el("span", { class: "rs-note", text: ` ${title}` }), el("span", { class: "rs-unseen", text: `: ${verdict}` }));
    this.node = el("figure", { class: "rs-stack rs-tight" }, caption, this.chart.node);
    this.sides = el("table", { class: "rs-table rs-claimsides" }, el("caption", { class: "rs-note", text: `${metric}: mean and 95 % interval` }), el("tbody", {}, ...rows));
  }
}

function drawing(difference, width) {
  const { mean, low, high, margin, verdict, each } = difference;
  const fill = COLOURS[verdict] ?? "var(--rs-fill)";
  const ends = [0, mean, low, high, margin, -margin, ...each].filter(Number.isFinite);
  const marks = [
    ruleX([0], { stroke: "var(--rs-soft)" }),
    ruleX(margin ? [-margin, margin] : [], { stroke: "var(--rs-soft)", strokeDasharray: "3 3" }),
    axisX({ tickSize: 0, label: null, tickFormat: (tick) => written(tick, difference), color: "var(--rs-soft)", tickSpacing: Math.max(60, width / 6) }),
    ruleY(Number.isFinite(low) ? [{ low, high }] : [], { y: 0, x1: "low", x2: "high", stroke: fill, strokeWidth: 3, strokeLinecap: "round" }),
    dot(each.map((value) => ({ value })), { y: 0, x: "value", fill, fillOpacity: 0.55, r: 2.5, dy: 9 }),
    dot(Number.isFinite(mean) ? [{ mean }] : [], { y: 0, x: "mean", fill, r: 5 }),
  ];
  return { height: HEIGHT, marginTop: 4, marginLeft: 14, marginRight: 14, marginBottom: 22, x: { domain: [Math.min(...ends), Math.max(...ends)], inset: 10 }, y: { domain: [-1, 1] }, marks };
}

/** A number in its unit: shares in per cent. */
function written(value, { unit }) {
  if (!Number.isFinite(value)) return "–";
  return (unit === "share" ? (100 * value).toFixed(1) : value.toFixed(3)).replace("-", "−");
}

const bounds = (side, difference) => (Number.isFinite(side.low) ? `[${written(side.low, difference)}, ${written(side.high, difference)}]` : "");
