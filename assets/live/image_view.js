// One point per image: which is chosen, which is pointed at, which are in the lasso, and how each looks on the maps.

import { reducedMotion, say } from "../common/dom.js";
import { severity } from "../common/palette.js";
import { imageLabel } from "../common/thumbnails.js";
import { marksOf, ringsOf, tagInk, trailOf } from "./overlays.js";

/** The images on the maps of the Live view `live`; the methods are those that maps ask of `on`. */
export class ImageView {
  constructor(live) {
    this.live = live;
    this.empty();
  }

  /** Nothing is chosen; `ringed`: the points with a ring, such as those with a wrong label. */
  empty() {
    Object.assign(this, { chosen: null, hovered: null, lassoed: [], inLasso: null, lassoTitle: "", ringed: [] });
  }

  /** Colour of every point; alpha 0 makes it faint: outside the filter or the lasso. */
  colours() {
    const { legend, run } = this.live;
    const rgba = new Uint8Array(run.points * 4);
    for (let i = 0; i < run.points; i += 1) {
      rgba.set(legend.colourOfPoint(i), i * 4);
      rgba[i * 4 + 3] = this.highlighted(i) ? 255 : 0;
    }
    return rgba;
  }

  /** List the images of the lasso, under the classes of the level that colours the maps. */
  list() {
    this.live.lassoPanel.show(this.live.run, this.lassoed, this.live.legend.classes, this.lassoTitle);
  }

  // ------------------------------------------------ what the maps ask

  visible(i) {
    return this.live.legend.shows(i);
  }

  highlighted(i) {
    return this.visible(i) && (!this.inLasso || this.inLasso.has(i));
  }

  hover(i, arm = null, aloud = false) {
    const { live } = this;
    if (i === this.hovered && !aloud) return arm !== null && i !== null && live.float(arm, i);
    this.hovered = i;
    live.neighbours.mark(i);
    if (i !== null && arm !== null) live.float(arm, i);
    else live.card.hide();
    if (aloud && i !== null) say(live.aloud, imageLabel(live.run, i));
    live.maps.changed();
  }

  /** Somebody chooses an image, and may then search with it. */
  choose(i) {
    if (i === null) return;
    const { live } = this;
    const shown = this.take(i);
    say(live.aloud, `Chosen: ${imageLabel(live.run, i)}`);
    window.dispatchEvent(new CustomEvent("rankscope:query", { detail: { run: live.run.id, row: i } }));
    return shown;
  }

  /** Show the neighbours of an image. */
  take(i) {
    const { maps, neighbours, player } = this.live;
    this.chosen = i;
    maps.changed();
    if (player.k === null) return;
    return neighbours.show(player.k, i).then(() => maps.changed());
  }

  enter() {
    return this.choose(this.hovered);
  }

  clear() {
    const { live } = this;
    this.hovered = null;
    this.chosen = null;
    live.card.hide();
    live.neighbours.mark(null);
    say(live.aloud, "Nothing is chosen.");
    if (this.lassoed.length) this.lasso([]);
    live.maps.changed();
  }

  maxRadius() {
    return 0;
  }

  cursor() {
    return this.hovered ?? this.chosen;
  }

  /** `title`: what the images are, empty: those inside a lasso. */
  lasso(ids, title = "") {
    Object.assign(this, { lassoed: ids, lassoTitle: title, inLasso: ids.length ? new Set(ids) : null });
    this.live.lassoMode(false);
    this.list();
    say(this.live.aloud, title || (ids.length ? `${ids.length} images in the lasso` : "The lasso is empty."));
    this.live.paint();
  }

  marks(arm, at, size) {
    const { neighbours, player, run } = this.live;
    const lists = neighbours.shown === this.chosen ? neighbours.lists[arm] : null;
    const results = lists ? lists.ids.map((id, rank) => [id, severity(run, lists.shared[rank]).kind]) : [];
    const trail = this.chosen === null || reducedMotion() ? [] : trailOf(player.past, arm, this.chosen);
    const rings = ringsOf(this.ringed.filter((i) => this.highlighted(i)), at, size);
    const tagged = ringsOf(this.live.tagLabels.ringed.filter((i) => this.highlighted(i)), at, size, tagInk());
    return [...rings, ...tagged, ...marksOf({ at, chosen: this.chosen, hovered: this.hovered, trail, results })];
  }

  /** Images in the place of dots, where a map is zoomed; `card` is the map of an arm. */
  drawOverlay(card, sprites, width, height, now) {
    sprites.update(this.live.run, this.live.maps.scene, card.arm, width, height, now, (i) => this.highlighted(i));
    this.live.classes.drawNames(card, width, height, now);
    this.live.tagLabels.draw(card, this.live.maps.scene, width, height, now);
  }
}
