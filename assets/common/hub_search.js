// A line of text that searches the Hub as one types: a combobox, whose list stands below it.

import { post } from "./api.js";
import { el, say } from "./dom.js";

const TYPED = 350; // ms without a key before the Hub is asked
const LEAST = 3; // letters
const PATH = /^[./~\\]|^[\w-]+:|@/i; // a folder, or a name with its revision or where it is from: nothing to search for
let count = 0;

export class HubSearch {
  /** `input`: the line; `kind`: datasets, models (of timm) or image_text (of open_clip); `taken(name)`: one of the list was chosen. */
  constructor(input, kind, taken) {
    count += 1;
    Object.assign(this, { input, kind, taken, hits: [], at: -1, id: `rs-hub-${count}` });
    this.list = el("ul", { class: "rs-hublist", role: "listbox", id: this.id, "aria-label": "On the Hub", hidden: true });
    this.status = el("p", { class: "rs-help", role: "status", hidden: true });
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.id })) input.setAttribute(name, value);
    input.addEventListener("input", () => this.typed());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    this.node = el("div", { class: "rs-fields" }, input, this.list, this.status);
  }

  typed() {
    clearTimeout(this.later);
    const text = this.input.value.trim();
    this.turn = {};
    this.tell("");
    if (text.length < LEAST || PATH.test(text)) this.close();
    else this.later = setTimeout(() => this.ask(text, this.turn), TYPED);
  }

  async ask(text, turn) {
    const slow = setTimeout(() => turn === this.turn && this.tell("Searching the Hub …"), 300);
    const reply = await post("form/search", { text, kind: this.kind }).catch((error) => ({ hits: [], problem: error.message }));
    clearTimeout(slow);
    if (turn !== this.turn || document.activeElement !== this.input) return;
    this.tell(reply.problem ?? (reply.hits.length ? "" : `Nothing on the Hub has “${text}” in its name.`));
    this.show(reply.hits);
  }

  tell(sentence) {
    this.status.hidden = !sentence;
    say(this.status, sentence);
  }

  show(hits) {
    this.hits = hits;
    this.list.replaceChildren(...hits.map((hit, i) => {
      const option = el("li", { role: "option", id: `${this.id}-${i}`, "aria-selected": "false" }, el("span", { text: hit.name }), el("span", { class: "rs-help", text: hit.words }));
      option.addEventListener("pointerdown", (event) => event.preventDefault()); // the line keeps the focus: leaving it takes what was typed
      option.addEventListener("click", () => this.take(i));
      return option;
    }));
    this.open(hits.length > 0);
    this.mark(-1);
  }

  open(shown) {
    this.list.hidden = !shown;
    this.input.setAttribute("aria-expanded", String(shown));
  }

  close() {
    clearTimeout(this.later);
    this.turn = {};
    this.open(false);
    this.mark(-1);
  }

  mark(at) {
    this.at = at;
    [...this.list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
    const option = this.list.children[at];
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    if (this.list.hidden) return;
    const last = this.hits.length - 1;
    const next = { ArrowDown: this.at >= last ? 0 : this.at + 1, ArrowUp: this.at <= 0 ? last : this.at - 1 }[event.key];
    if (next !== undefined) this.mark(next);
    else if (event.key === "Enter" && this.at >= 0) this.take(this.at);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  take(i) {
    const { name } = this.hits[i];
    this.input.value = name;
    this.close();
    this.tell("");
    this.taken(name);
  }
}
