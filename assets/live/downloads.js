// The menu of what can be downloaded of the viewed run.

import { downloadUrl, post } from "../common/api.js";
import { el, icon, sayBriefly } from "../common/dom.js";
import { downloads } from "../common/downloads.js";
import { savePng } from "../common/files.js";
import { HubPush } from "../common/hub_push.js";
import { Task } from "../common/task.js";

/** `on`: {picture(): a canvas}. */
export class Downloads {
  constructor(on) {
    this.on = on;
    this.list = el("ul", {});
    this.menu = el("div", { class: "rs-popup rs-menu", hidden: true }, this.list);
    this.button = el("button", { type: "button", class: "rs-act rs-download", "aria-label": "Download", "aria-expanded": "false", onclick: () => this.toggle() }, icon("down"), el("span", { text: "Download" }));
    this.push = new HubPush();
    this.said = el("p", { class: "rs-note rs-said", role: "status" });
    this.making = new Task("making", "The film was stopped.");
    this.making.node.classList.add("rs-popup", "rs-making");
    this.node = el("div", { class: "rs-downloads" }, this.button, this.menu, this.making.node, this.said);
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.menu.hidden) this.close();
    });
    document.addEventListener("pointerdown", (event) => this.node.contains(event.target) || this.toggle(false));
    this.node.addEventListener("focusout", (event) => event.relatedTarget && !this.node.contains(event.relatedTarget) && this.toggle(false));
    this.list.addEventListener("click", (event) => event.target.closest("a, button") && this.close());
  }

  /** Closed after a choice; the focus goes back to the button. */
  close() {
    this.toggle(false);
    this.button.focus();
  }

  toggle(open = this.menu.hidden) {
    this.menu.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
  }

  load(run) {
    const picture = el("button", { type: "button", text: "Maps as a picture (PNG)", onclick: () => savePng(this.on.picture(), `rankscope-${run.id}`) });
    const films = Object.entries(run.made ?? {}).map(([kind, text]) => el("li", {}, el("button", { type: "button", text, onclick: () => this.make(run.id, kind) })));
    const lacking = (run.lacking ?? []).map((text) => el("li", { class: "rs-note", text }));
    this.list.replaceChildren(...downloads(run), ...films, ...lacking, el("li", {}, picture), this.push.item);
    this.push.show(run);
  }

  /** Have a film made, and save it. */
  async make(run, kind) {
    try {
      const { made } = await this.making.answer(await post(`run/${run}/make/${kind}`, {}));
      el("a", { href: `${downloadUrl(run, kind)}?made=${made}`, download: "" }).click();
    } catch (error) {
      sayBriefly(this.said, error.message);
    }
  }
}
