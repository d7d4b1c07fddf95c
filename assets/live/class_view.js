// One point per class: a disc at the mean of the places of its images, its area by their number, in the class's colour.

import { reducedMotion, el, grouped, say } from "../common/dom.js";
import { brief, coarseToFine, inFull } from "../common/names.js";
import { path } from "../common/palette.js";
import { marksOf } from "./overlays.js";
import { ClassLabels } from "./class_labels.js";

const SWELL = 1.5; // a disc of the mean size against a dot of one point
const SWELLS = [0.7, 3.5];
const MIDDLE = -9; // px from a place up to the line of its name: the name stands on it
const CAVEAT = "A 2-D map keeps only some of the nearest neighbours; the numbers come from the full space.";
const NOTE = "A 2-D map keeps only some of the nearest neighbours. A disc stands at the mean of its images' places on the map, not at the place of their mean embedding.";
const SWITCH = [
  ["Images", "One point per image"],
  ["Classes", "One point per class: its area is the number of its images"],
];

/** Stands in for the images of the Live view `live` on its maps; the methods are those that maps ask of `on`. */
export class ClassView {
  constructor(live) {
    this.live = live;
    this.on = false;
    this.buttons = SWITCH.map(([text, title], place) =>
      el("button", { type: "button", text, title, "aria-pressed": String(!place), onclick: () => this.turn(Boolean(place)) }),
    );
    this.node = el("div", { class: "rs-segments", role: "group", "aria-label": "What a point stands for" }, ...this.buttons);
    this.caveat = el("p", { class: "rs-note rs-caveat", text: CAVEAT });
    this.naming = el("button", { type: "button", class: "rs-act", text: "Class names", "aria-pressed": "true", onclick: () => this.nameClasses() });
    this.means = new WeakMap();
    this.empty();
  }

  /** No run, or one whose images are not read yet. */
  empty() {
    Object.assign(this, { ids: [], members: [], sizes: new Float32Array(0), hovered: null, labels: [] });
    this.node.hidden = true;
    this.naming.hidden = true;
  }

  /** Write the names of the classes on the maps of images, or take them off. */
  nameClasses() {
    this.naming.setAttribute("aria-pressed", String(!this.named));
    if (!this.named && !this.on) for (const label of this.labels) label?.hide();
    this.live.maps.changed();
  }

  get named() {
    return this.naming.getAttribute("aria-pressed") === "true";
  }

  turn(on) {
    if (on === this.on) return;
    this.on = on;
    this.buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(Boolean(place) === on)));
    say(this.caveat, on ? NOTE : CAVEAT);
    this.live.images.hover(null);
    this.hover(null);
    this.live.redraw();
  }

  /** Take the classes over from the legend: those that have images. */
  take() {
    const { legend, run } = this.live;
    this.node.hidden = this.naming.hidden = !run.points;
    this.means = new WeakMap();
    const { names, values } = legend.classes;
    this.ids = legend.order;
    const place = new Map(this.ids.map((id, i) => [id, i]));
    this.members = this.ids.map(() => []);
    values.forEach((id, i) => this.members[place.get(id)].push(i));
    this.names = this.ids.map((id) => names[id]);
    const mean = values.length / Math.max(this.ids.length, 1);
    this.sizes = Float32Array.from(this.members, ({ length }) => Math.min(SWELLS[1], Math.max(SWELLS[0], SWELL * Math.sqrt(length / mean))));
    this.bySize = this.members.map((_, i) => i).sort((a, b) => this.members[b].length - this.members[a].length);
  }

  /** Where the classes are when their images are at `places`, one array per arm. */
  placed(places) {
    return places.map((points) => {
      const means = new Float32Array(this.members.length * 2);
      this.members.forEach((members, c) => {
        let [x, y] = [0, 0];
        for (const i of members) {
          x += points[i * 2];
          y += points[i * 2 + 1];
        }
        means.set([x / members.length, y / members.length], c * 2);
      });
      return means;
    });
  }

  colours() {
    const rgba = new Uint8Array(this.ids.length * 4);
    this.ids.forEach((id, c) => rgba.set([...this.live.legend.colourOf(id), this.highlighted(c) ? 255 : 0], c * 4));
    return rgba;
  }

  // ------------------------------------------------ what the maps ask

  visible(c) {
    const { legend } = this.live;
    return legend.only.size === 0 || legend.only.has(this.ids[c]);
  }

  highlighted(c) {
    const { inLasso } = this.live.images;
    return this.visible(c) && (!inLasso || this.members[c].some((i) => inLasso.has(i)));
  }

  hover(c, arm = null, aloud = false) {
    const { live } = this;
    this.hovered = c;
    if (c !== null && arm !== null) live.float(arm, c, (...where) => live.card.showClass(live.run, this.members[c][0], this.names[c], this.pathAbove(c), this.members[c].length, ...where));
    else live.card.hide();
    if (aloud && c !== null) say(live.aloud, `${brief(this.names[c])}, ${grouped(this.members[c].length)} images`);
    live.maps.changed();
  }

  choose(c) {
    if (c === null) return;
    this.live.images.lasso(this.members[c], `${grouped(this.members[c].length)} images of ${brief(this.names[c], 60)}`);
  }

  enter() {
    this.choose(this.hovered);
  }

  clear() {
    this.hovered = null;
    this.live.images.clear();
  }

  maxRadius() {
    return this.live.maps.dotSize * Math.max(...this.sizes, 0) / 2;
  }

  cursor() {
    return this.hovered;
  }

  lasso(discs) {
    this.live.images.lasso(discs.flatMap((c) => this.members[c]));
  }

  marks(_arm, at) {
    return marksOf({ at, chosen: null, hovered: this.hovered, trail: [], results: [] }, this.hovered === null ? 0 : this.radius(this.hovered) * 2 + 6);
  }

  /** Names beside the discs; `card` is the map of an arm. */
  drawOverlay(card, sprites, width, height, now) {
    const { scene } = this.live.maps;
    sprites.update(null, scene, card.arm, width, height, now, () => false);
    const order = this.hovered === null ? this.bySize : [this.hovered, ...this.bySize.filter((c) => c !== this.hovered)];
    this.write(card, order, (c) => scene.at(card.arm, c, now), (c) => this.radius(c), width, height, now);
  }

  /** The names of the classes in the middle of their images, on a map of images. */
  drawNames(card, width, height, now) {
    if (!this.named || !this.bySize) return;
    const { scene } = this.live.maps;
    const { before, after } = scene.arms[card.arm];
    const [from, to, t] = [this.meanOf(before), this.meanOf(after), scene.part(now)];
    const at = (c) => [0, 1].map((axis) => from[c * 2 + axis] + (to[c * 2 + axis] - from[c * 2 + axis]) * t);
    this.write(card, this.bySize, at, () => MIDDLE, width, height, now);
  }

  write(card, order, at, radius, width, height, now) {
    const { scene } = this.live.maps;
    const discs = order.filter((c) => this.highlighted(c)).map((c) => {
      const [x, y] = scene.toScreen(card.arm, at(c), width, height, now);
      return { name: this.names[c], radius: radius(c), x, y };
    });
    this.labelsOf(card).update(discs, width, height, scene.moving(now) && !reducedMotion());
  }

  /** The middles of the classes whose images are at `points`, worked out once. */
  meanOf(points) {
    if (!this.means.has(points)) this.means.set(points, this.placed([points])[0]);
    return this.means.get(points);
  }

  hideOverlay(card) {
    this.labels[card.arm]?.hide();
  }

  // ---------------------------------------------------------------

  labelsOf(card) {
    if (this.labels[card.arm]?.node.parentNode !== card.plot) this.labels[card.arm] = new ClassLabels(card.plot);
    return this.labels[card.arm];
  }

  radius(c) {
    return (this.live.maps.dotSize * this.sizes[c]) / 2;
  }

  /** The path above a class: "Packages › Juice"; empty at the coarsest level. */
  pathAbove(c) {
    const { tree, level } = this.live.legend;
    return coarseToFine(path(tree, level, this.ids[c]).slice(1).map(inFull));
  }
}
