// The Catalogue tab: entries by family, closed to their title and sentence; a search and a family narrow them.

import { json } from "../common/api.js";
import { el, say } from "../common/dom.js";
import { select, text } from "../common/fields.js";
import { response } from "./response.js";
import { Sheet } from "./sheet.js";

const INTRO = "Each loss is written from its paper's formula. Encoder, sampler, optimiser and batches are the same for all.";

/** `typeset()` puts `window.rankscopeSheet` on the sheet, see sheet.js. */
export async function mount(element, { typeset }) {
  const host = element.querySelector(".rs-entries");
  try {
    const { sections } = await json("catalogue");
    const sheet = new Sheet(element.closest("#rs-catalogue"), typeset);
    host.replaceChildren(...new Catalogue(sections, sheet).nodes);
  } catch (error) {
    host.replaceChildren(el("p", { class: "rs-note", text: error.message }));
  }
}

class Catalogue {
  constructor(sections, sheet) {
    this.families = sections.map(({ title, entries }) => ({
      title,
      heading: el("h2", { text: title }),
      entries: entries.map((content) => new Entry(content, title, sheet)),
    }));
    this.input = text("Search losses, metrics and models", { "aria-label": "Search the catalogue", oninput: () => this.narrow() });
    const choices = sections.map(({ title, entries }) => ({ name: title, title: `${title} (${entries.length})` }));
    this.family = select(() => this.narrow(), [{ name: "", title: "All families" }, ...choices]);
    this.family.setAttribute("aria-label", "Family");
    this.count = el("span", { class: "rs-note", role: "status" });
  }

  get nodes() {
    const row = el("div", { class: "rs-flow rs-search" }, this.input, this.family, this.count);
    return [el("p", { class: "rs-sentence", text: INTRO }), row, ...this.families.flatMap(({ heading, entries }) => [heading, ...entries.map((entry) => entry.node)])];
  }

  /** Only entries of the family that have every word; a heading without an entry goes too. */
  narrow() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { title, heading, entries } of this.families) {
      const asked = !this.family.value || this.family.value === title;
      for (const entry of entries) entry.node.hidden = !(asked && entry.has(words));
      const left = entries.filter((entry) => !entry.node.hidden).length;
      heading.hidden = !left;
      shown += left;
    }
    const narrowed = words.length > 0 || this.family.value !== "";
    say(this.count, narrowed ? `${shown} ${shown === 1 ? "entry" : "entries"}` : "");
  }
}

class Entry {
  constructor({ title, sentence, loss, text: content }, family, sheet) {
    Object.assign(this, { content, loss, sheet, words: `${family} ${title} ${sentence} ${content}`.toLowerCase() });
    this.press = el("button", { type: "button", class: "rs-entrytitle", "aria-expanded": "false", text: title, onclick: () => this.toggle() });
    this.node = el("div", { class: "rs-entry" }, el("h3", {}, this.press), el("p", { text: sentence }));
  }

  has(words) {
    return words.every((word) => this.words.includes(word));
  }

  /** What a closed entry holds beside title and sentence is out of the page. */
  async toggle() {
    const opened = this.press.getAttribute("aria-expanded") === "false";
    this.press.setAttribute("aria-expanded", String(opened));
    if (!this.body) {
      this.body = el("div", { class: "rs-entrybody" });
      this.node.append(this.body);
      this.body.replaceChildren(...(await this.sheet.set(this.content)));
      this.body.querySelector("ul")?.after(...(this.loss ? [response(this.loss)] : []));
      reach(this.body);
    }
    if (this.press.getAttribute("aria-expanded") === "true") this.node.append(this.body);
    else this.body.remove();
  }
}

/** A formula wider than its card can be scrolled with the keyboard too. */
function reach(body) {
  for (const formula of body.querySelectorAll(".katex-display")) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
  }
}
