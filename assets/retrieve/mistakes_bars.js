// Results by severity: for every arm a bar of its first results and one of its first k, and the best that is possible.

import { el, grouped } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { brief } from "../common/names.js";
import { table, tableBox } from "../common/table.js";
import { heading } from "./places.js";
import { severities, severityBar, severityKey, share } from "../common/severity_colours.js";

const WRONG = "If wrong";

export class MistakesBars {
  constructor() {
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Results by severity" });
  }

  /** `answers`: {place.key of an arm: {answer, arm}}; `diverged`: {place.key: why it has none}; `pair(place)`: the arm that
   * it is compared with, or null. */
  show(places, answers, diverged, pair, files) {
    const runs = [...new Set(places.map((place) => place.run))].map((run) => places.filter((place) => place.run === run && answers.has(place.key))).filter((ofRun) => ofRun.length);
    const known = runs.map((ofRun) => answers.get(ofRun[0].key).answer);
    if (!known.length) return this.node.replaceChildren();
    const words = [...new Map(known.map((answer) => [answer.words.join(), answer.words])).values()];
    const parts = known.flatMap((answer) => this.run(answer, places.filter((place) => place.run === answer.run), answers, diverged, pair));
    const rows = runs.flatMap((ofRun) => tabulated(ofRun, answers));
    const head = ["Loss", "Results", ...severities(words[0]).map(({ word }) => brief(word))];
    const numbers = words.length === 1 ? fold("Numbers as a table", tableBox(table(head, rows))) : null;
    return this.node.replaceChildren(el("h3", { text: "How bad are the results?" }), el("p", { class: "rs-note", text: about(known[0]) }), ...words.map(severityKey), el("div", { class: "rs-sharebars" }, ...parts), numbers ?? "", files);
  }

  run(answer, ofRun, answers, diverged, pair) {
    const arms = ofRun.flatMap((place) => {
      if (diverged.has(place.key)) return [named(place), el("p", { class: "rs-note rs-sharename", text: diverged.get(place.key) })];
      const { arm } = answers.get(place.key);
      const other = answers.get(pair(place)?.key)?.arm ?? null;
      const wrong = ifWrong(answer, arm).flatMap((shares) => line(WRONG, answer.words, shares, null, place.title));
      return [named(place), ...line("First result", answer.words, arm.top1, other?.top1, place.title), ...wrong, ...line(`First ${answer.k}`, answer.words, arm.topk, other?.topk, place.title)];
    });
    return [...arms, el("h4", { class: "rs-note rs-sharename", text: `Best possible${ofRun[0].of ? `, ${ofRun[0].of}` : ""}` }), ...line(`First ${answer.k}`, answer.words, answer.best, null, "Best possible", "rs-bestbar")];
  }
}

/** The shares of the wrong first results by severity, none of them of the query's class; [] where they say nothing. */
const ifWrong = (answer, arm) => (arm.wrong1 && answer.words.length > 2 ? [[...arm.wrong1, 0]] : []);

const named = (place) => el("h4", { class: "rs-flow rs-sharename" }, ...heading(place));

function line(label, words, shares, others, title, kind = "") {
  const bar = severityBar(words, shares, `${title}, ${label.toLowerCase()}`);
  if (kind) bar.classList.add(kind);
  return [el("span", { class: "rs-note", text: label }), bar, el("span", { class: "rs-note rs-sharediff" }, ...(others?.length === shares.length ? differences(words, shares, others) : []))];
}

/** In percentage points, of the best and of the worst severity. */
function differences(words, shares, others) {
  return [severities(words)[0], severities(words).at(-1)].flatMap(({ shared, mark, word }, at) => {
    const value = (shares[shared] - others[shared]) * 100;
    const better = at === 0 ? value > 0.05 : value < -0.05;
    const kind = Math.abs(value) <= 0.05 ? "" : better ? "rs-better" : "rs-worse";
    return [at ? " " : "", el("span", { class: kind, title: `${word}, percentage points less the baseline`, text: `${mark} ${signed(value)}` })];
  });
}

const signed = (value) => `${value > 0.05 ? "+" : value < -0.05 ? "−" : "±"}${Math.abs(value).toFixed(1)}`;

function about({ queries, left_out: left, k, step }) {
  const out = left ? ` ${grouped(left)} images are the only one of their class and are no queries.` : "";
  return `${grouped(queries)} queries, each image of the map searched among the others; the first result and the first ${k}, at step ${grouped(step)}.${out} ${WRONG}: the first results that are of another class, alone. The best possible is what perfect lists would have: a small class cannot fill ${k} places.`;
}

function tabulated(ofRun, answers) {
  return ofRun.flatMap((place) => {
    const { answer, arm } = answers.get(place.key);
    const cells = (shares) => severities(answer.words).map(({ shared }) => share(shares[shared]));
    const name = place.of ? `${place.title}, ${place.of}` : place.title;
    const wrong = ifWrong(answer, arm).map((shares) => [name, "first, if wrong", ...cells(shares)]);
    return [[name, "first", ...cells(arm.top1)], ...wrong, [name, `first ${answer.k}`, ...cells(arm.topk)], ["Best possible", `first ${answer.k}`, ...cells(answer.best)]];
  });
}
