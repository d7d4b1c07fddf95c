// The menu of what can be downloaded of the viewed run.

import * as api from "../common/api.js";
import { el, icon } from "../common/dom.js";
import { save } from "../common/files.js";

const KINDS = [
  ["run.zip", "Whole run (zip)"],
  ["metrics.csv", "Numbers (CSV)"],
  ["coordinates.parquet", "Map coordinates (Parquet)"],
  ["embeddings.parquet", "Embeddings (Parquet)"],
  ["replay.html", "Replay as one page (HTML)"],
  ["curves.html", "Curves as one page (HTML)"],
];

/** `on`: {picture(): a promise of a canvas, link(): text of a link to what is shown}. */
export class Downloads {
  constructor(on) {
    this.on = on;
    this.list = el("ul", {});
    this.menu = el("div", { class: "rs-menu", hidden: true }, this.list);
    this.button = el("button", { type: "button", class: "rs-quiet rs-download", "aria-label": "Download", "aria-expanded": "false", onclick: () => this.toggle() }, icon("down"), el("span", { text: "Download" }));
    this.node = el("div", { class: "rs-downloads" }, this.button, this.menu);
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.toggle(false);
      this.button.focus();
    });
    document.addEventListener("pointerdown", (event) => this.node.contains(event.target) || this.toggle(false));
  }

  toggle(open = this.menu.hidden) {
    this.menu.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
  }

  load(run) {
    const links = KINDS.map(([kind, text]) => el("li", {}, el("a", { href: api.downloadUrl(run.id, kind), download: "", text })));
    const picture = el("button", { type: "button", text: "Maps as a picture (PNG)", onclick: () => this.picture(run) });
    const link = el("button", { type: "button", text: "Copy a link to this view", onclick: (event) => this.copy(event.target) });
    this.list.replaceChildren(...links, el("li", {}, picture), el("li", {}, link));
  }

  picture(run) {
    this.on.picture().toBlob((blob) => save(blob, `rankscope-${run.id}.png`), "image/png");
  }

  async copy(button) {
    try {
      await navigator.clipboard.writeText(this.on.link());
      button.textContent = "Link copied";
    } catch {
      button.textContent = "This browser does not let pages copy; use the address bar";
    }
  }
}
