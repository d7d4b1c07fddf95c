// How is searched: which gallery, by which index, how many results, re-ranked or not.

import { el, grouped, say } from "../common/dom.js";
import { choose, field, fold, number, select } from "../common/fields.js";
import { brief, capital } from "../common/names.js";
import { GalleryParameters } from "./gallery_parameters.js";

const K = 10;
const WIDE = 760; // px; below, the settings begin folded away
const NONE = "";

/** `changed()`: of what is searched; `open(gallery)`: another gallery is wanted. */
export class SearchSettings {
  constructor(on) {
    this.on = on;
    this.gallery = select((name) => this.pick(name));
    this.index = select(() => on.changed());
    this.rerank = select(() => on.changed());
    this.k = number(K, 1, 100, 1, () => on.changed());
    this.parameters = new GalleryParameters(on.open);
    this.about = el("p", { class: "rs-note" });
    const fields = [["Gallery", this.gallery], ["Index", this.index], ["Re-ranking", this.rerank]].map(([title, control]) => field(title, control));
    const form = el("div", { class: "rs-flow rs-form" }, ...fields, field("Results", this.k, { class: "rs-field rs-short" }));
    this.node = fold("", form, this.parameters.node, this.about);
    this.node.classList.add("rs-how");
    this.node.open = window.innerWidth > WIDE;
    this.words = this.node.querySelector("summary");
    this.node.addEventListener("change", () => this.summarise());
  }

  /** What is chosen, in the line that stays when the rest is folded away. */
  summarise() {
    const chosen = (control) => control.selectedOptions[0]?.textContent ?? "";
    const index = this.index.value === "auto" ? "index chosen by size" : chosen(this.index);
    const again = this.rerank.value === NONE ? "not re-ranked" : `re-ranked by ${chosen(this.rerank)}`;
    say(this.words, [this.title || "Gallery", index, `${this.k.value} results`, again].join(" · "));
  }

  /** What the server offers. */
  offer(given) {
    this.given = given;
    choose(this.gallery, given.galleries, given.galleries[0].name);
    choose(this.index, [{ name: "auto", title: "Chosen by size" }, ...given.indexes], "auto");
    choose(this.rerank, [{ name: NONE, title: "None" }, ...given.rerankings], NONE);
    this.k.max = given.most;
    this.parameters.offer(given);
  }

  pick(name) {
    if (this.parameters.show(name)) this.parameters.focus();
    else this.on.open({ name });
  }

  /** The gallery that is open: `about` as the server tells it. */
  opened(gallery, about) {
    this.gallery.value = gallery.name;
    this.parameters.show(gallery.name);
    const sentence = this.given.galleries.find((listed) => listed.name === gallery.name)?.sentence ?? "";
    say(this.about, [sentence, ...about.notes].join(" "));
    const title = brief(about.title, 120);
    const count = grouped(about.count);
    this.title = title.startsWith(count) ? title : `${capital(title)}, ${count} images`;
    this.summarise();
  }

  /** {k, index, rerank} as a search takes them. */
  get value() {
    return { k: Number(this.k.value), index: this.index.value, rerank: this.rerank.value };
  }
}
