// The nearest images of one image without training, a grey row a way, read once they are unfolded.

import { json } from "./api.js";
import { el } from "./dom.js";
import { fold } from "./fields.js";
import { brief } from "./names.js";
import { shownNames } from "./thumbnails.js";
import { strip, Tile } from "./tiles.js";

export class UntrainedRows {
  /** `choose(i)` when an image is pressed. */
  constructor(choose) {
    this.choose = choose;
    this.rows = el("div", { class: "rs-stack rs-untrainedrows" });
    this.node = fold("Without training", this.rows);
    this.node.hidden = true;
    this.node.addEventListener("toggle", () => this.fill());
  }

  /** Image `index` of the maps of a run, whose rows without training `untrained` has; null: another image. */
  show(run, index) {
    Object.assign(this, { run, index });
    this.node.hidden = index === null || !run.untrained?.rows.length;
    return this.fill();
  }

  async fill() {
    const { run, index } = this;
    if (this.node.hidden || !this.node.open) return;
    const rows = await json(`run/${run.id}/untrained/${index}`).catch(() => []);
    if (run !== this.run || index !== this.index) return;
    this.rows.replaceChildren(...rows.map((row) => this.row(row)));
  }

  row({ title, ids, shared }) {
    const tiles = ids.map((id, rank) => {
      const tile = new Tile("button", { type: "button", onclick: () => this.choose(id) });
      const word = tile.show(this.run, id, shared[rank]);
      tile.press.setAttribute("aria-label", `Rank ${rank + 1}${word && `, ${word}`}: ${shownNames(this.run, id).join(", ")}`);
      return tile.node;
    });
    return el("div", { class: "rs-row rs-untrainedrow" }, el("h4", { text: brief(title) }), strip(`Nearest without training: ${title}`, ...tiles));
  }
}
