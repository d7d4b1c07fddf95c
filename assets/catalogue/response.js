// What a loss does while one image comes nearer to the query: its value, and how hard its gradient pushes the image away.

import { json } from "../common/api.js";
import { Chart, curve, edge, named, titled } from "../common/chart.js";
import { armKey, el, figure } from "../common/dom.js";
import { ink } from "../common/palette.js";
import { ruleX, ruleY } from "../vendor/plot.js";

const HEIGHT = 150;
const ACROSS = "cosine of the moving image and the query";
const PANELS = [
  ["loss", "Loss"],
  ["push", "Push away from the query (below 0: pull)"],
];

/** Both charts of a registered loss; they are computed by the server when first asked for. */
export function response(loss) {
  const node = el("div", { class: "rs-response" }, el("p", { class: "rs-note", text: "Computing the plot …" }));
  json(`catalogue/response/${loss}`).then(
    (curves) => node.replaceChildren(armKey(curves.moves.map(({ title }) => title)), el("div", { class: "rs-columns" }, ...PANELS.map((panel) => drawn(curves, ...panel))), el("p", { class: "rs-note", text: curves.made })),
    (error) => node.replaceChildren(el("p", { class: "rs-note", text: error.message })),
  );
  return node;
}

function drawn({ cosines, marks, moves }, key, title) {
  const values = moves.flatMap((move) => move[key]);
  const limits = [Math.min(...values), Math.max(...values)];
  const lines = moves.map((move, arm) => curve(cosines.map((cosine, at) => [cosine, move[key][at]]), ink(arm)));
  const chart = new Chart();
  const grid = ruleX(marks, { className: "rs-cursor rs-begin" });
  const zero = limits[0] < 0 ? [ruleY([0], { stroke: "var(--rs-line)" })] : [];
  chart.show(() => ({
    height: HEIGHT,
    marginLeft: 42,
    marginBottom: 34,
    x: { domain: [0, 1] },
    y: { domain: limits },
    marks: [edge(), ...zero, named(limits, figure), titled([0, 0.5, 1], ACROSS), grid, ...lines],
  }));
  chart.say(`${title} by ${ACROSS}. ${moves.map((move) => inWords(cosines, move, key)).join(" ")}`);
  return el("figure", {}, el("figcaption", { text: title }), chart.node);
}

/** The ends and the middle of a line. */
function inWords(cosines, move, key) {
  const read = [0, Math.floor(cosines.length / 2), cosines.length - 1];
  return `${move.title}: ${read.map((at) => `${figure(move[key][at])} at ${cosines[at].toFixed(2)}`).join(", ")}.`;
}
