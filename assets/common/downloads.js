// What can be downloaded of a run: links, and the button that unfolds them.

import { downloadUrl } from "./api.js";
import { el, icon } from "./dom.js";
import { HubPush } from "./hub_push.js";

/** A link to every download that the server offers of a run, one per list item. */
export const downloads = (run) => Object.entries(run.downloads).map(([kind, text]) => el("li", {}, el("a", { href: downloadUrl(run.id, kind), download: "", text })));

/** The links below a button that shows and hides them. */
export class DownloadFold {
  constructor() {
    this.links = el("ul", {});
    this.push = new HubPush();
    this.push.item.addEventListener("click", () => (this.node.open = false));
    this.node = el("details", { class: "rs-takehome" }, el("summary", { class: "rs-act" }, icon("down"), el("span", { text: "Download" })), this.links);
  }

  /** Made anew only where a run offers something else, so that a link keeps the focus. */
  show(run) {
    const offered = JSON.stringify([run.id, run.downloads]);
    if (offered !== this.offered) this.links.replaceChildren(...downloads(run), this.push.item);
    this.push.show(run);
    this.offered = offered;
  }
}
