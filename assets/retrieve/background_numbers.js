// What each arm retrieves by: numbers with intervals for the whole image, the object alone and the background alone.

import { el, grouped } from "../common/dom.js";
import { percent } from "../common/measures.js";
import { brief } from "../common/names.js";
import { bars } from "../object_removal/bars.js";
import * as api from "./background_api.js";

const STAYS = "stays";
const REMOVED = "without";
const OVER_QUERIES = "Lines are 95 % intervals over the queries of each model as it is; other trainings of it are not covered.";

export class BackgroundNumbers {
  constructor() {
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Numbers", hidden: true });
  }

  show(answer) {
    this.node.hidden = false;
    const failed = answer.arms.filter((arm) => arm.error);
    const models = answer.arms.map((arm) => ({ title: brief(arm.title), values: valuesOf(answer, arm) }));
    const rows = rowsOf(answer);
    const about = `${grouped(answer.queries)} queries of ${brief(answer.title)} against ${grouped(answer.gallery)} untouched images; a query's own image is not among them. In a random order the first result is of the query's class for ${percent(answer.chance)} of them.`;
    this.node.replaceChildren(
      el("h3", { text: "By the object, or by what is around it?" }),
      el("p", { class: "rs-note", text: about }),
      legend(models),
      bars(models, { bars: rows, all: rows }, OVER_QUERIES),
      ...failed.map((arm) => el("p", { class: "rs-alert", text: `${brief(arm.title)}: ${arm.error}` })),
      ...answer.notes.map((text) => el("p", { class: "rs-note", text })),
      el("p", { class: "rs-flow rs-note" }, el("a", { href: api.csvUrl(answer.key), download: "", text: "Numbers as CSV" })),
    );
  }

  empty() {
    this.node.hidden = true;
  }
}

const legend = (models) => el("ul", { class: "rs-flow rs-note" }, ...models.map((model, arm) => el("li", { class: "rs-flow" }, armSwatch(arm), el("span", { text: model.title }))));

export const armSwatch = (arm) => el("span", { class: `rs-swatch rs-ink rs-ink-${arm}`, "aria-hidden": "true" });

function valuesOf(answer, arm) {
  const own = answer.numbers.filter((number) => number.run === arm.run && number.arm === arm.arm);
  return Object.fromEntries(own.map(({ form, measure, mean, low, high }) => [`${measure}.${form}`, { mean, low, high }]));
}

/** The measures in turn, each for every form; of the neighbours that stay those without the object come first. */
function rowsOf(answer) {
  return Object.entries(answer.measures).flatMap(([measure, title]) => Object.entries(answer.forms).map(([form, words]) => ({ key: `${measure}.${form}`, title: measure === STAYS && form === REMOVED ? `${title}: object removed` : `${title}: ${words}` })));
}
