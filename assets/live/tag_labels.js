// The tags of a run on its maps: a ring around each image that has one, and the names amid their images.

import { button } from "../common/fields.js";
import { ClassLabels } from "./class_labels.js";
import { middleOf } from "./scene.js";

export class TagLabels {
  /** `changed()`: the maps are to be drawn again. */
  constructor(changed) {
    this.labels = [];
    this.switch = button("On the maps", () => this.turn());
    this.switch.setAttribute("aria-pressed", "true");
    this.changed = changed;
    this.show([]);
  }

  /** `tags`: [[name, points]]. */
  show(tags) {
    this.tags = tags.filter(([, points]) => points.length);
    this.every = [...new Set(this.tags.flatMap(([, points]) => points))];
    this.means = new WeakMap();
    this.hide();
    this.changed();
  }

  turn() {
    this.switch.setAttribute("aria-pressed", String(!this.on));
    this.hide();
    this.changed();
  }

  get on() {
    return this.switch.getAttribute("aria-pressed") === "true";
  }

  /** The images that get a ring. */
  get ringed() {
    return this.on ? this.every : [];
  }

  /** Write the names on a map; `card` is that of an arm. */
  draw(card, scene, width, height, now) {
    if (!this.on || !this.tags.length) return;
    const { before, after } = scene.arms[card.arm];
    const [from, to, t] = [this.middles(before), this.middles(after), scene.part(now)];
    const discs = this.tags.map(([name], place) => {
      const at = [0, 1].map((axis) => from[place][axis] + (to[place][axis] - from[place][axis]) * t);
      const [x, y] = scene.toScreen(card.arm, at, width, height, now);
      return { name, radius: 6, x, y };
    });
    this.labelsOf(card).update(discs, width, height, scene.moving(now));
  }

  /** The medians of the places of each tag's images, worked out once. */
  middles(places) {
    if (!this.means.has(places)) this.means.set(places, this.tags.map(([, points]) => middleOf(places, points)));
    return this.means.get(places);
  }

  labelsOf(card) {
    if (this.labels[card.arm]?.node.parentNode !== card.plot) {
      this.labels[card.arm] = new ClassLabels(card.plot);
      this.labels[card.arm].node.classList.add("rs-taglabels");
    }
    return this.labels[card.arm];
  }

  hide() {
    for (const label of this.labels) label?.hide();
  }
}
