// The Catalogue tab: its entries are drawn when it is opened, closed to their title and sentence; a search and the
// families narrow them; links go to the families.

import { el, say } from "../common/dom.js";
import { text } from "../common/fields.js";

/** `opened()` asks for the entries. */
export function mount(element, { opened }) {
  const catalogue = element.closest("#rs-catalogue");
  const search = new Search(catalogue);
  catalogue.addEventListener("click", (event) => jump(event, search), { capture: true });
  new MutationObserver(() => {
    close(catalogue);
    reach(catalogue);
    search.narrow();
  }).observe(catalogue, { childList: true, subtree: true });
  opened();
}

class Search {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.input = text("Search losses, metrics and models", { "aria-label": "Search the catalogue" });
    this.input.addEventListener("input", () => this.narrow());
    this.count = el("span", { class: "rs-note", role: "status" });
    catalogue.querySelector(".rs-jumps").before(el("div", { class: "rs-flow rs-search" }, this.input, this.count));
  }

  clear() {
    this.input.value = "";
    this.narrow();
  }

  /** Only entries that have every word; a heading without an entry goes too. */
  narrow() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let heading = null;
    let shown = 0;
    for (const node of this.catalogue.querySelectorAll("h2[id], .block.rs-entry")) {
      if (node.tagName === "H2") {
        heading = node;
        heading.hidden = words.length > 0;
        continue;
      }
      const content = `${heading?.textContent ?? ""} ${node.textContent} ${folded.get(node)?.textContent ?? ""}`.toLowerCase();
      const fits = words.every((word) => content.includes(word));
      node.classList.toggle("rs-unfit", !fits);
      if (fits && heading) heading.hidden = false;
      shown += fits;
    }
    const said = words.length ? `${shown} ${shown === 1 ? "entry" : "entries"}` : "";
    if (this.count.textContent !== said) say(this.count, said);
  }
}

/** What closed entries hold beside their title and sentence: out of the page, which is a third of its size then. */
const folded = new WeakMap();

/** Make the title of every new entry a button that opens it. One whose formula is not drawn yet comes later. */
function close(catalogue) {
  for (const title of catalogue.querySelectorAll(".rs-entry h3:not(:has(button))")) {
    const entry = title.closest(".block.rs-entry");
    if (entry.textContent.includes("$$")) continue;
    const press = el("button", { type: "button", class: "rs-entrytitle", "aria-expanded": "false", text: title.textContent, onclick: () => open(entry, title, press) });
    title.replaceChildren(press);
    fold(entry, title);
  }
}

/** Take out what follows the sentence under the title. */
function fold(entry, title) {
  const nodes = [...title.parentNode.childNodes];
  const sentence = nodes.findIndex((node, i) => i > nodes.indexOf(title) && node.nodeType === Node.ELEMENT_NODE);
  const body = document.createDocumentFragment();
  body.append(...nodes.slice(sentence + 1));
  folded.set(entry, body);
}

function open(entry, title, press) {
  const opened = entry.classList.toggle("rs-open");
  press.setAttribute("aria-expanded", String(opened));
  if (!opened) return fold(entry, title);
  title.parentNode.append(folded.get(entry));
  return folded.delete(entry);
}

/** A new hash in the address would make Gradio build the page again. */
function jump(event, search) {
  const link = event.target.closest?.(".rs-jumps a");
  const heading = link && document.getElementById(link.hash.slice(1));
  if (!heading) return;
  event.preventDefault();
  search.clear();
  heading.scrollIntoView();
  heading.focus({ preventScroll: true });
}

/** A formula wider than its card can be scrolled with the keyboard too. */
function reach(catalogue) {
  for (const formula of catalogue.querySelectorAll(".katex-display:not([tabindex])")) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
  }
}
