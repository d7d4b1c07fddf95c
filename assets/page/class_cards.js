// The groups of one layer as cards with their classes. What is off screen holds no classes: hundreds are no burden.

import { el, grouped } from "../common/dom.js";
import { classesUnder, imagesOf, itemName, LONGEST, members } from "./class_tree.js";

const SHOWN = 24; // classes of a card, until more are asked for
const DRAGGED = "application/x-rankscope-classes";

/** Cards in a box that scrolls. `on`: {chosen(), moved(items, group), renamed(group, name), keys(event, item)}. */
export class ClassCards {
  constructor(on) {
    this.on = on;
    this.items = new Set(); // that are chosen
    this.groups = new Set();
    this.cards = new Map();
    this.node = el("div", { class: "rs-classcards", role: "region", "aria-label": "Groups with their classes", tabindex: -1 });
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) target.card.fill();
    }, { scrollMargin: "300px" });
  }

  /** Show a layer of a tree, of which the groups and items whose names hold `words`. */
  show(tree, layer, words = "") {
    if (layer !== this.layer) this.clear();
    Object.assign(this, { tree, layer });
    const inside = members(tree, layer);
    const wanted = words.trim().toLowerCase();
    const hit = (name) => name.toLowerCase().includes(wanted);
    const rows = [...tree.layers[layer].groups, { id: null, name: "Dropped" }].map((group) => {
      const all = inside.get(group.id);
      const items = wanted && !hit(group.name) ? all.filter((item) => hit(itemName(tree, layer, item))) : all;
      return { group, all, items };
    }).filter(({ group, all, items }) => items.length && (group.id !== null || all.length));
    this.keep(inside);
    const cards = rows.map((row) => this.card(row));
    const nodes = cards.map(({ node }) => node);
    if (nodes.length !== this.node.children.length || nodes.some((node, i) => this.node.children[i] !== node)) {
      const held = document.activeElement;
      this.node.replaceChildren(...nodes);
      if (this.node.contains(held)) held.focus({ preventScroll: true });
    }
    for (const [id, card] of this.cards) {
      if (cards.includes(card)) continue;
      this.seen.unobserve(card.node);
      this.cards.delete(id);
    }
  }

  /** Of what is chosen, keep what is there. */
  keep(inside) {
    const there = new Set([...inside.values()].flat());
    for (const item of this.items) if (!there.has(item)) this.items.delete(item);
    for (const group of this.groups) if (!inside.has(group)) this.groups.delete(group);
  }

  clear() {
    this.items.clear();
    this.groups.clear();
    for (const card of this.cards.values()) card.mark();
    this.on.chosen();
  }

  card(row) {
    const known = this.cards.get(row.group.id);
    if (known) {
      known.update(row);
      return known;
    }
    const card = new Card(this, row);
    this.cards.set(row.group.id, card);
    this.seen.observe(card.node);
    return card;
  }

  toggle(item) {
    if (!this.items.delete(item)) this.items.add(item);
    this.on.chosen();
  }
}

class Card {
  constructor(cards, row) {
    this.cards = cards;
    const { id } = row.group;
    this.id = id;
    this.more = false;
    const tick = el("input", { type: "checkbox" });
    tick.addEventListener("change", () => {
      if (tick.checked) cards.groups.add(id);
      else cards.groups.delete(id);
      this.mark();
      cards.on.chosen();
    });
    const name = el("input", { class: "rs-input rs-groupname", type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false" });
    name.addEventListener("change", () => {
      cards.on.renamed(id, name.value);
      name.value = this.row.group.name; // as it is now: what is refused is not kept
    });
    name.addEventListener("keydown", (event) => { if (event.key === "Enter") name.blur(); });
    this.parts = { tick, name, count: el("p", { class: "rs-note" }), list: el("ul", { class: "rs-classchips" }) };
    const title = id === null ? el("h3", { class: "rs-groupname", text: "Dropped" }) : name;
    const head = el("div", { class: "rs-classcardhead" }, ...(id === null ? [title] : [tick, title]));
    this.node = el("section", { class: `rs-classcard${id === null ? " rs-classdropped" : ""}` }, head, this.parts.count, this.parts.list);
    this.node.card = this;
    this.parts.list.addEventListener("keydown", (event) => this.keys(event));
    this.parts.list.addEventListener("focusin", (event) => this.stop(event.target));
    this.drops();
    this.update(row);
  }

  /** Classes can be dropped on it. */
  drops() {
    const offered = (event) => event.dataTransfer.types.includes(DRAGGED);
    this.node.addEventListener("dragover", (event) => {
      if (!offered(event)) return;
      event.preventDefault();
      this.node.classList.add("rs-dropping");
    });
    this.node.addEventListener("dragleave", (event) => this.node.contains(event.relatedTarget) || this.node.classList.remove("rs-dropping"));
    this.node.addEventListener("drop", (event) => {
      this.node.classList.remove("rs-dropping");
      if (!offered(event)) return;
      event.preventDefault();
      const items = this.cards.dragged ?? [];
      if (items.length) this.cards.on.moved(items, this.id);
    });
  }

  update(row) {
    const { tree, layer } = this.cards;
    const { group, all, items } = row;
    const { tick, name, count } = this.parts;
    const before = this.row;
    this.row = row;
    tick.setAttribute("aria-label", `Choose the group ${group.name}`);
    name.setAttribute("aria-label", `Name of the group ${group.name}`);
    if (document.activeElement !== name || before?.group.name !== group.name) name.value = group.name;
    this.node.setAttribute("aria-label", `Group ${group.name}`);
    const classes = classesUnder(tree, layer, all);
    const words = [...(layer ? [counted(all.length, "group", "groups")] : []), counted(classes.length, "class", "classes")];
    if (classes.some((i) => tree.classes[i].images !== null)) words.push(counted(imagesOf(tree, classes), "image", "images"));
    count.textContent = words.join(" · ");
    const texts = items.map((item) => itemName(tree, layer, item));
    const drawn = JSON.stringify([items, texts]);
    if (drawn !== this.drawn) {
      Object.assign(this, { drawn, texts });
      if (this.filled) this.draw();
    }
    this.mark();
  }

  /** Draw the classes once the card is near the screen. */
  fill() {
    if (this.filled) return;
    this.filled = true;
    this.draw();
  }

  draw() {
    const { list } = this.parts;
    const { items } = this.row;
    const held = list.contains(document.activeElement) ? [...list.querySelectorAll("button")].indexOf(document.activeElement) : -1;
    const most = this.more ? items.length : SHOWN;
    const chips = items.slice(0, most).map((item, i) => this.chip(item, this.texts[i]));
    const rest = items.length - chips.length;
    const all = () => { this.more = true; this.draw(); };
    list.replaceChildren(...chips, ...(rest > 0 ? [el("li", {}, el("button", { type: "button", class: "rs-classmore", text: `and ${grouped(rest)} more`, onclick: all }))] : []));
    this.stop(list.querySelector("button"));
    this.mark();
    if (held >= 0) (list.querySelectorAll("button")[Math.min(held, chips.length - 1)] ?? this.cards.node).focus();
  }

  chip(item, text) {
    const { cards } = this;
    const node = el("button", { type: "button", class: "rs-classchip", draggable: "true", title: text, text });
    node.item = item;
    node.addEventListener("click", () => { cards.toggle(item); this.mark(); });
    node.addEventListener("dragstart", (event) => {
      cards.dragged = cards.items.has(item) ? [...cards.items] : [item];
      event.dataTransfer.setData(DRAGGED, String(cards.dragged.length));
      event.dataTransfer.effectAllowed = "move";
    });
    return el("li", {}, node);
  }

  /** Show what is chosen. */
  mark() {
    this.parts.tick.checked = this.cards.groups.has(this.id);
    this.node.classList.toggle("rs-chosen", this.parts.tick.checked);
    for (const node of this.parts.list.querySelectorAll(".rs-classchip")) node.setAttribute("aria-pressed", String(this.cards.items.has(node.item)));
  }

  /** One stop of the Tab key for all classes of the card. */
  stop(button) {
    for (const each of this.parts.list.querySelectorAll("button")) each.tabIndex = each === button ? 0 : -1;
  }

  keys(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const every = [...this.parts.list.querySelectorAll("button")];
    const at = every.indexOf(event.target);
    if (step) {
      event.preventDefault();
      every[(at + step + every.length) % every.length]?.focus();
    } else if (event.target.item !== undefined) this.cards.on.keys(event, event.target.item);
  }
}

export const counted = (count, one, several) => `${grouped(count)} ${count === 1 ? one : several}`;
