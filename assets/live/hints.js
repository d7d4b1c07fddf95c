// Three sentences above the maps for whoever sees the page for the first time; afterwards behind a "?".

import { base } from "../common/api.js";
import { el } from "../common/dom.js";
import { button } from "../common/fields.js";
import { store, stored } from "../common/storage.js";

const KEY = "rankscope-hints";
const SENTENCES = [
  "One map per loss; each dot is a test image.",
  "Click a dot: its nearest images are below.",
  "Press Train to compare losses.",
];

export class Hints {
  constructor() {
    this.node = el("section", { class: "rs-panel rs-hints", "aria-label": "How to read the maps", hidden: true },
      el("ol", {}, ...SENTENCES.map((text) => el("li", { text }))),
      el("a", { href: `${base()}/docs/README.md`, target: "_blank", rel: "noopener", text: "Documentation" }),
      button("Got it", () => this.show(false)));
    this.node.addEventListener("keydown", (event) => event.key === "Escape" && this.show(false));
    this.opener = button("?", () => this.show(this.node.hidden));
    this.opener.setAttribute("aria-label", "How to read the maps");
    this.opener.setAttribute("aria-expanded", "false");
  }

  /** A run is shown: open until somebody has closed it in this browser. */
  load() {
    this.set(stored(KEY) !== "seen");
  }

  show(open) {
    this.set(open);
    if (!open) {
      store(KEY, "seen");
      this.opener.focus();
    }
  }

  set(open) {
    this.node.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
  }
}
