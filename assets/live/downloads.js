// The menu of what can be downloaded of the viewed run.

import { el, icon } from "../common/dom.js";
import { downloads } from "../common/downloads.js";
import { savePng } from "../common/files.js";

/** `on`: {picture(): a canvas, link(): text of a link to what is shown}. */
export class Downloads {
  constructor(on) {
    this.on = on;
    this.list = el("ul", {});
    this.menu = el("div", { class: "rs-popup rs-menu", hidden: true }, this.list);
    this.button = el("button", { type: "button", class: "rs-act rs-download", "aria-label": "Download", "aria-expanded": "false", onclick: () => this.toggle() }, icon("down"), el("span", { text: "Download" }));
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
    const picture = el("button", { type: "button", text: "Maps as a picture (PNG)", onclick: () => savePng(this.on.picture(), `rankscope-${run.id}`) });
    const link = el("button", { type: "button", text: "Copy a link to this view", onclick: (event) => this.copy(event.target) });
    this.list.replaceChildren(...downloads(run), el("li", {}, picture), el("li", {}, link));
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
