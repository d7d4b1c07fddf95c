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
      const content = `${heading?.textContent ?? ""} ${node.textContent}`.toLowerCase();
      const fits = words.every((word) => content.includes(word));
      node.classList.toggle("rs-unfit", !fits);
      if (fits && heading) heading.hidden = false;
      shown += fits;
    }
    const said = words.length ? `${shown} ${shown === 1 ? "entry" : "entries"}` : "";
    if (this.count.textContent !== said) say(this.count, said);
  }
}

/** Make the title of every new entry a button that opens it. */
function close(catalogue) {
  for (const title of catalogue.querySelectorAll(".rs-entry h3:not(:has(button))")) {
    const entry = title.closest(".block.rs-entry");
    const press = el("button", { type: "button", class: "rs-entrytitle", "aria-expanded": "false", text: title.textContent, onclick: () => press.setAttribute("aria-expanded", String(entry.classList.toggle("rs-open"))) });
    title.replaceChildren(press);
  }
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
