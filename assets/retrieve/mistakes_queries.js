// The queries on which arms differ most, by a metric of choice; each leads to its rows.

import { el, figure, grouped, say } from "../common/dom.js";
import { choose, field, Problem, select } from "../common/fields.js";
import { brief, coarseToFine, inFull } from "../common/names.js";
import { longList, picture } from "./pair_tile.js";
import { look, swatch } from "./places.js";
import * as api from "./api.js";

const FEW = 8;

export class DifferentQueries {
  /** `open(example, answer)`: show its rows; `images(run)`: what paints a run's images. */
  constructor(open, images) {
    Object.assign(this, { open, images });
    this.metric = select(() => this.ask());
    this.problem = new Problem();
    this.said = el("p", { class: "rs-note", role: "status" });
    this.list = el("div", {});
    this.files = el("p", { class: "rs-flow rs-note" });
    const head = el("header", { class: "rs-flow rs-sectionline" }, el("h3", { text: "Where the models differ most" }), field("By", this.metric, { class: "rs-field rs-inline" }));
    this.node = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "Where the models differ most" }, head, this.problem.node, this.said, this.list, this.files);
  }

  offer(metrics) {
    choose(this.metric, metrics, metrics.find(({ usual }) => usual).name);
  }

  /** `asked`: {run, baseline, step}. */
  load(asked, places) {
    Object.assign(this, { asked, places });
    return this.ask();
  }

  async ask() {
    const turn = (this.turn = {});
    const asked = { ...this.asked, metric: this.metric.value };
    try {
      const answer = await api.mistakes("queries", asked);
      if (turn !== this.turn) return;
      this.problem.say(null);
      this.show(answer, asked);
    } catch (error) {
      if (turn !== this.turn) return;
      this.problem.say(error.message);
      this.draw = () => {};
      for (const part of [this.list, this.files]) part.replaceChildren();
      say(this.said, "");
    }
  }

  draw() {}

  drop() {
    this.list.replaceChildren();
  }

  show(answer, asked) {
    this.draw = () => this.show(answer, asked);
    say(this.said, answer.found.length ? `${answer.title} of ${grouped(answer.queries)} queries; those first on which ${answer.arms.length > 2 ? `the ${answer.arms.length} models` : "the two models"} lie furthest apart.${answer.diverged ? " Models whose training diverged are left out." : ""}` : none(answer));
    const of = (arm) => this.places.find((place) => place.run === arm.run && place.arm === arm.arm) ?? { place: 0, title: brief(arm.title) };
    this.list.replaceChildren(...(answer.found.length ? [longList(answer.found, (query) => this.item(query, answer, answer.arms.map(of)), FEW)] : []));
    this.files.replaceChildren(...(answer.found.length ? [el("a", { href: api.mistakesUrl("queries", asked), download: "", text: "Queries as CSV" })] : []));
  }

  item(query, answer, places) {
    const names = query.classes.map((name) => brief(name));
    const values = places.map((place, at) => el("span", { class: "rs-flow rs-armvalue" }, swatch(place.place), el("span", { text: figure(query.values[at]) })));
    const dots = places.map((place, at) => query.values[at] === null ? "" : el("span", { class: `rs-pairdot ${look(place.place).colour}`, style: `left: ${(query.values[at] * 100).toFixed(1)}%` }));
    const label = places.map((place, at) => `${place.title}${place.of ? `, ${place.of}` : ""} ${figure(query.values[at])}`).join("; ");
    const texts = el("span", { class: "rs-pairtext" }, el("span", { class: "rs-clamp rs-pairname", style: "--lines: 1", text: names[0] }), el("span", { class: "rs-note rs-ellipsis", text: coarseToFine(names.slice(1)) }));
    const press = el("button", { type: "button", class: "rs-pairrow", title: query.classes.map(inFull).join("\n"), "aria-label": `Image ${query.point + 1}: ${names.join(", ")}. ${answer.title}: ${label}`, onclick: () => this.open(query, answer) }, picture(this.images(answer.run), query.point), texts, el("span", { class: "rs-dotline", "aria-hidden": "true" }, ...dots), el("span", { class: "rs-flow rs-values" }, ...values));
    return el("li", {}, press);
  }
}

/** Why there are no queries to show. */
function none({ arms, diverged, title }) {
  if (arms.length > 1) return `On no query do the models differ in ${title}.`;
  if (diverged) return "One model is left to compare: the training of every other one diverged.";
  return "One loss was trained alone. Add a run on the same images above to see where they differ.";
}
