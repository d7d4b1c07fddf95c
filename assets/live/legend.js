// What colours the maps, a level of the classes or an attribute such as the background: its values, counts, filter, search.

import { el, grouped, say } from "../common/dom.js";
import { brief, coarseToFine, inFull } from "../common/names.js";
import { path, rgb } from "../common/palette.js";
import { ringedAttribute } from "./overlays.js";

const SHOWN = 12;

/** `on`: {changed()} after the level, the filter or the theme changed the colours. */
export class Legend {
  constructor(on) {
    this.on = on;
    this.groupings = [{ tree: null, level: 0, colours: null }];
    this.chosen = 0;
    this.only = new Set();
    this.open = false;
    this.levels = el("div", { class: "rs-segments", role: "group", "aria-label": "Colour by" });
    this.list = el("ul", { class: "rs-flow rs-classes", "aria-label": "Classes; choose one to see only it" });
    this.more = el("button", { type: "button", class: "rs-more", "aria-expanded": "false", onclick: () => this.toggle() });
    this.fewer = el("button", { type: "button", class: "rs-act", text: "Fewer", hidden: true, onclick: () => this.toggle() });
    this.search = el("input", { type: "search", class: "rs-input rs-search", placeholder: "Find a class", "aria-label": "Find a class", hidden: true });
    this.search.addEventListener("input", () => this.list.replaceChildren(...this.items()));
    this.all = el("button", { type: "button", class: "rs-act", text: "Show all", hidden: true, onclick: () => this.clear() });
    this.ringed = el("p", { class: "rs-note rs-ringed", hidden: true });
    this.grey = el("p", { class: "rs-note rs-others", hidden: true });
    this.node = el("div", { class: "rs-flow rs-legend" }, this.search, this.fewer, this.all, this.list, this.grey, this.ringed);
  }

  /** No run, or one whose images are not read yet. */
  empty() {
    this.run = null;
    this.only.clear();
    this.open = false;
    this.search.value = "";
    this.levels.replaceChildren();
    this.list.replaceChildren();
    this.levels.hidden = this.node.hidden = this.ringed.hidden = this.grey.hidden = true;
  }

  /** The level that is shown; of an attribute 0. */
  get level() {
    return this.groupings?.[this.chosen]?.level ?? 0; // none before a run is shown
  }

  /** What is shown as a tree of classes: the run, or an attribute as a tree of one level. */
  get tree() {
    return this.groupings[this.chosen].tree;
  }

  /** Names of the classes shown, and the class of each point. */
  get classes() {
    return { names: this.tree.names[this.level], values: this.tree.labels[this.level] };
  }

  /** A new run: choose the finest level that stays readable. */
  load(run, dark) {
    this.empty();
    this.run = run;
    this.node.hidden = false;
    const readable = run.levels.findIndex((_, level) => new Set(run.labels[level]).size <= 24);
    this.chosen = readable === -1 ? Math.max(run.levels.length - 1, 0) : readable;
    this.groupings = [...run.levels.map((_, level) => ({ tree: run, level, colours: run.colours[level] })), ...(run.attributes ?? []).map((attribute) => grouping(run, attribute))];
    this.titles = [...run.levels, ...(run.attributes ?? []).map((attribute) => attribute.name)];
    this.usual = this.title;
    this.levels.replaceChildren(...this.titles.map((name, place) => this.segment(name, place)));
    this.levels.hidden = this.titles.length < 2;
    this.recolour(dark);
  }

  /** Say what the rings on the maps mean; `count` points have one. */
  rings(count) {
    const one = ringedAttribute(this.run);
    this.ringed.hidden = !one;
    if (!one) return;
    const ring = el("span", { class: "rs-ring", "aria-hidden": "true" });
    this.ringed.replaceChildren(ring, `ringed: ${brief(one.name)} ${brief(one.names[one.ringed])}, ${grouped(count)} of ${grouped(one.values.length)} images`);
  }

  segment(name, place) {
    return el("button", { type: "button", class: "rs-ellipsis rs-level", text: brief(name, 40), title: name.length > 40 ? inFull(name) : null, "aria-pressed": "false", onclick: () => this.choose(place) });
  }

  /** What colours the maps, by its name. */
  get title() {
    return this.titles?.[this.chosen];
  }

  /** Colour by what has a name; returns whether it is there. */
  chooseTitle(name) {
    const place = this.titles.indexOf(name);
    if (place >= 0) this.choose(place);
    return place >= 0;
  }

  choose(place) {
    if (place === this.chosen) return;
    this.chosen = place;
    this.only.clear();
    this.open = false;
    this.search.value = "";
    this.recolour(this.dark);
    this.on.changed();
  }

  /** Work out the colours again: another level or another theme. */
  recolour(dark) {
    this.dark = dark;
    const { tree, level } = this;
    const { names, values } = this.classes;
    this.values = values;
    this.counts = new Uint32Array(names.length);
    for (const id of values) this.counts[id] += 1;
    this.colours = this.groupings[this.chosen].colours[dark ? "dark" : "light"];
    const key = (id) => path(tree, level, id).reverse();
    this.order = [...this.counts.keys()].filter((id) => this.counts[id]);
    const parents = new Map(this.order.map((id) => [id, key(id)]));
    this.order.sort((a, b) => compare(parents.get(a), parents.get(b)) || a - b);
    this.sayGrey();
    this.render();
  }

  /** Say which points have no colour of their own. */
  sayGrey() {
    const grey = this.order.filter((id) => this.colours[id].length > 1);
    this.grey.hidden = !grey.length;
    if (!grey.length) return;
    const dot = el("span", { class: "rs-swatch rs-dot", "aria-hidden": "true" });
    dot.style.background = this.colours[grey[0]][0];
    this.grey.replaceChildren(dot, `${grouped(grey.length)} other classes; one that is chosen gets a colour`);
  }

  render() {
    [...this.levels.children].forEach((node, place) => node.setAttribute("aria-pressed", String(place === this.chosen)));
    const extra = this.order.length - SHOWN;
    say(this.more, extra > 0 ? `+${extra} more` : "");
    this.search.hidden = !this.open;
    this.fewer.hidden = !this.open;
    this.all.hidden = this.only.size === 0;
    this.list.classList.toggle("rs-scroll", this.open);
    this.list.replaceChildren(...this.items());
  }

  /** Folded: the first dozen, and whatever was chosen. */
  items() {
    const word = this.open ? this.search.value.trim().toLowerCase() : "";
    const { names } = this.classes;
    const shown = this.order.filter((id, place) =>
      word ? names[id].toLowerCase().includes(word) : this.open || place < SHOWN || this.only.has(id),
    );
    if (!shown.length) return [el("li", { class: "rs-note", text: "No class has such a name." })];
    const items = shown.map((id) => this.item(id, names[id]));
    return this.open || this.order.length <= SHOWN ? items : [...items, el("li", {}, this.more)];
  }

  item(id, name) {
    const dot = el("span", { class: "rs-swatch rs-dot", "aria-hidden": "true" });
    dot.style.background = this.hexOf(id);
    const count = el("span", { class: "rs-count", text: grouped(this.counts[id]) });
    const chosen = this.only.has(id);
    const press = el(
      "button",
      { type: "button", "aria-pressed": String(chosen), "data-class": id, title: coarseToFine(path(this.tree, this.level, id).map(inFull)), onclick: () => this.toggleClass(id) },
      dot,
      el("span", { class: "rs-ellipsis rs-name", text: brief(name) }),
      count,
    );
    return el("li", { class: this.only.size && !chosen ? "rs-off" : null }, press);
  }

  toggle() {
    this.open = !this.open;
    this.search.value = "";
    this.render();
    (this.open ? this.search : this.more).focus();
  }

  toggleClass(id) {
    if (!this.only.delete(id)) this.only.add(id);
    this.render();
    this.list.querySelector(`[data-class="${id}"]`)?.focus();
    this.on.changed();
  }

  clear() {
    this.only.clear();
    this.render();
    this.list.querySelector("button")?.focus();
    this.on.changed();
  }

  /** A class that is grey gets its own colour when it is chosen. */
  hexOf(id) {
    const [colour, chosen = colour] = this.colours[id];
    return this.only.has(id) ? chosen : colour;
  }

  colourOf(id) {
    return rgb(this.hexOf(id));
  }

  colourOfPoint(i) {
    return this.colourOf(this.values[i]);
  }

  shows(i) {
    return this.only.size === 0 || this.only.has(this.values[i]);
  }
}

/** What an attribute is shown as: a tree of one level, or that of the classes where its values are classes of a level, so
 * that a class keeps its colour. */
function grouping(run, { names, values, level, colours }) {
  if (level === undefined) return { tree: { names: [names], labels: [values], parents: [] }, level: 0, colours };
  return { tree: { ...run, labels: run.labels.map((label, at) => (at === level ? values : label)) }, level, colours };
}

function compare(a, b) {
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
    const order = a[i].localeCompare(b[i], undefined, { numeric: true });
    if (order) return order;
  }
  return a.length - b.length;
}
