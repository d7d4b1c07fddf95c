// The confusions that cost most: images of one class where another was wanted, with an example; each leads to its rows.

import { el } from "../common/dom.js";
import { brief, inFull } from "../common/names.js";
import { longList, marked, picture } from "./pair_tile.js";
import { heading } from "./places.js";

const FEW = 5;

export class Confusions {
  /** `open(example, answer)`: show the example's rows; `images(run)`: what paints a run's images. */
  constructor(open, images) {
    Object.assign(this, { open, images });
    this.lists = el("div", { class: "rs-columns rs-confusions" });
    this.files = el("p", { class: "rs-flow rs-note" });
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Confusions" }, el("h3", { text: "The confusions that cost most" }), el("p", { class: "rs-note", text: "Results of another class before the class ran out. The cost is their number times the levels of the label tree that they miss." }), this.lists, this.files);
  }

  /** `answers`: {place.key of an arm: {answer, arm}}; `diverged`: {place.key: why it has none}. */
  show(places, answers, diverged) {
    this.draw = () => this.show(places, answers, diverged);
    const shown = places.filter(({ key }) => answers.has(key) || diverged.has(key));
    this.lists.replaceChildren(...shown.map((place) => el("div", { class: "rs-stack rs-tight" }, el("h4", { class: "rs-flow" }, ...heading(place)), this.list(place, answers.get(place.key), diverged))));
  }

  draw() {}

  drop() {
    this.lists.replaceChildren();
  }

  list(place, found, diverged) {
    if (!found) return el("p", { class: "rs-note", text: diverged.get(place.key) });
    const { answer, arm } = found;
    if (!arm.confusions.length) return el("p", { class: "rs-note", text: "No result was of another class before its own ran out." });
    return longList(arm.confusions, (confusion) => this.item(confusion, answer, place.run), FEW);
  }

  item(confusion, answer, run) {
    const images = this.images(run);
    const names = el("span", { class: "rs-clamp rs-pairname", style: "--lines: 2", text: `${brief(confusion.query_class)} mistaken for ${brief(confusion.result_class)}` });
    const cost = el("span", { class: "rs-note", text: `${confusion.count} ${confusion.count === 1 ? "result" : "results"}, ${confusion.missing} of ${answer.levels.length} levels missed, cost ${confusion.cost}` });
    const press = el("button", { type: "button", class: "rs-pairrow", title: `${inFull(confusion.query_class)}\n${inFull(confusion.result_class)}`, onclick: () => this.open(confusion, answer) }, picture(images, confusion.query), marked(images, confusion.result, answer.words, confusion.shared), el("span", { class: "rs-pairtext" }, names, cost));
    if (!reachable(confusion, answer)) Object.assign(press, { disabled: true, title: answer.apart });
    return el("li", {}, press);
  }
}

/** Whether the run whose gallery is searched has an image. */
export const reachable = (listed, answer) => listed.point !== null || !answer.apart;
