// How far one map can be trusted: a badge, and its reasons on hover and focus; a line that came and went would move the page.

import { el, say } from "../common/dom.js";
import { signed } from "../common/measures.js";

const KEPT = 0.4; // share of neighbours below which a map is read with care
const short = (value) => value.toFixed(2);
/** Share of neighbours that a map keeps beyond those that any map of so many images keeps, 0 to 1. */
const kept = ({ quality, chance = 0 }) => (quality - chance) / (1 - chance);
let count = 0;

export class Truth {
  constructor() {
    count += 1;
    const id = `rs-truth-${count}`;
    this.reasons = el("dl", { class: "rs-tip rs-reasons", role: "tooltip", id });
    this.badge = el("button", { type: "button", class: "rs-word rs-badge rs-truthbadge", "aria-describedby": id, hidden: true });
    this.badge.addEventListener("keydown", (event) => event.key === "Escape" && this.badge.blur());
    this.node = el("span", { class: "rs-explained rs-truth" }, this.badge, this.reasons);
    this.figures = [];
  }

  /** `figures`: [{key, short, sentence, levels}] as the server sends them. */
  load(figures) {
    this.figures = figures;
    this.about = null;
    this.show(null, null);
  }

  /** `about` is the frame's {quality, drift, method, before} of this arm. */
  frame(about, first) {
    this.first = first;
    this.about = about;
  }

  /** `about`: an arm of a frame; `level`: the level of the label tree that colours the map, null where none does. */
  show(about, level) {
    const known = (arm, { key, levels }) => (levels ? arm?.measures?.[key]?.[level] : arm?.measures?.[key]);
    const rows = [...this.own(about), ...this.figures.map((figure) => [figure.short, known(about, figure), known(about?.before, figure), figure.sentence])];
    const measured = rows.filter(([, value]) => Number.isFinite(value));
    const remarks = (level === null ? null : about?.remarks?.[level]) ?? [];
    const early = about?.method === "pca";
    const few = about?.chance >= 1; // any map keeps the nearest images, and none can be told from another
    const equal = about?.equal ? ["Images with one embedding are in no place of their own: where the map draws them says nothing."] : [];
    const care = !few && (early || remarks.length > 0 || equal.length > 0 || (about && kept(about) < KEPT));
    this.badge.hidden = !measured.length;
    this.badge.classList.toggle("rs-care", care);
    say(this.badge, few ? "too few images" : care ? "read with care" : "faithful");
    const why = [...(few ? ["So few images are all near to each other on any map: nothing can be said of this one."] : []), ...(early ? ["Principal components, while UMAP warms up."] : []), ...equal, ...remarks];
    if (!why.length) why.push(care ? "The map keeps few of the nearest images." : "The map keeps the nearest images and the classes as they are in the space.");
    const words = measured.map(([name, value, before, sentence]) => [`${name} ${short(value)}${Number.isFinite(before) ? ` (${signed(value - before, short)})` : ""}`, sentence]);
    this.write(why, words);
  }

  /** What is known of every frame: [name, value, value of the map before, sentence]. */
  own(about) {
    const moved = this.first || about?.before || about?.method === "pca" ? null : about?.drift;
    return [
      ["map keeps", about?.quality, about?.before?.quality, "Share of each image's 15 nearest images in the space that are among its 15 nearest on the map."],
      ["moved", moved, null, "Median move since the frame before, in standard deviations of the map."],
    ];
  }

  write(why, words) {
    const text = JSON.stringify([why, words]);
    if (this.written === text) return;
    this.written = text;
    this.reasons.replaceChildren(...why.map((line) => el("p", { text: line })), ...words.flatMap(([name, sentence]) => [el("dt", { text: name }), el("dd", { text: sentence })]));
  }
}
