// What each arm retrieves by: numbers with intervals for every form of the queries, beside the controls.

import { armKey, el, grouped } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { percent } from "../common/measures.js";
import { brief, capital } from "../common/names.js";
import { table, tableBox } from "../common/table.js";
import { bars } from "../common/bars.js";
import * as api from "./api.js";

const STAYS = "stays";
const MISSED = "missed";
const LINES = "Neighbours that stay follow how well an embedding is ordered: compare forms under one loss by them, not losses.";
const CONTROLS = "Beyond the controls";
const POINTS = "In percentage points, query by query. The placebo fills as much beside the object.";

export class BackgroundNumbers {
  constructor() {
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Numbers", hidden: true });
  }

  show(answer) {
    this.node.hidden = false;
    const failed = answer.arms.filter((arm) => arm.error);
    const models = answer.arms.map((arm) => ({ title: brief(arm.title), values: valuesOf(answer, arm) }));
    const rows = (...measures) => measures.flatMap((measure) => rowsOf(answer, measure));
    const [first, ...others] = Object.keys(answer.measures).filter((measure) => ![STAYS, MISSED].includes(measure));
    const about = `${grouped(answer.queries)} queries of ${brief(answer.title)} against ${grouped(answer.gallery)} untouched images; a query's own image is not among them. In a random order the first result is of the query's class for ${percent(answer.chance)} of them.`;
    this.node.replaceChildren(
      el("h3", { text: "By the object, or by what is around it?" }),
      el("p", { class: "rs-note", text: about }),
      armKey(models.map((model) => model.title)),
      bars(models, { bars: rows(first, STAYS), all: rows(first, ...others, STAYS) }, `${answer.intervals} ${LINES}`),
      ...controls(answer, models),
      ...folds(answer, models),
      ...failed.map((arm) => el("p", { class: "rs-alert", text: `${brief(arm.title)}: ${arm.error}` })),
      ...answer.notes.map((text) => el("p", { class: "rs-note", text })),
      el("p", { class: "rs-flow rs-note" }, el("a", { href: api.measuredUrl(answer.key), download: "", text: "Numbers as CSV" })),
    );
  }

  empty() {
    this.node.hidden = true;
  }
}

function valuesOf(answer, arm) {
  const ofArm = answer.numbers.filter((number) => number.run === arm.run && number.arm === arm.arm);
  return Object.fromEntries(ofArm.map(({ form, measure, mean, low, high }) => [`${measure}.${form}`, { mean, low, high }]));
}

/** A measure of every form. */
const rowsOf = (answer, measure) => Object.entries(answer.forms).map(([form, words]) => ({ key: `${measure}.${form}`, title: `${capital(answer.measures[measure])}: ${words}` })).filter(({ key }) => answer.numbers.some((number) => key === `${number.measure}.${number.form}`));

/** The differences between a form and its control: in the first measure, and folded in the others. */
function controls(answer, models) {
  const names = Object.entries(answer.contrasts);
  if (!names.length) return [];
  const [first, ...others] = Object.keys(answer.measures).filter((measure) => measure !== MISSED).map((measure) => [measure, tableBox(table([answer.measures[measure], ...models.map((model) => model.title)], names.map(([name, title]) => [capital(title), ...models.map((model) => spelled(model.values[`${measure}.${name}`], points))])))]);
  return [el("h4", { text: CONTROLS }), el("p", { class: "rs-note", text: POINTS }), first[1], ...others.map(([measure, numbers]) => fold(`The same in ${answer.measures[measure]}`, numbers))];
}

/** How bad wrong first results are. */
function folds(answer, models) {
  const missed = rowsOf(answer, MISSED).map(({ key }) => [capital(answer.forms[key.slice(MISSED.length + 1)]), ...models.map((model) => spelled(model.values[key], levels))]);
  return missed.length ? [fold(`${capital(answer.measures[MISSED])}, of ${answer.levels.length}`, tableBox(table(["Form", ...models.map((model) => model.title)], missed)))] : [];
}

const NONE = "–";
const points = (value) => `${value < 0 ? "−" : ""}${(Math.abs(value) * 100).toFixed(1)}`;
const levels = (value) => value.toFixed(2);

function spelled(value, words) {
  if (!Number.isFinite(value?.mean)) return NONE;
  return `${words(value.mean)} (${words(value.low)} to ${words(value.high)})`;
}
