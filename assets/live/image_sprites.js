// Thumbnails beside the dots of a zoomed map, where there is room for them.

import { el } from "../common/dom.js";
import { thumbnail } from "../common/thumbnails.js";

const ZOOM = 1.6; // below this a map is looked at as a whole
const MOST = 40; // more would cover each other
const ROOMY = 14;

export class Sprites {
  constructor(plot) {
    this.node = el("div", { class: "rs-layer rs-sprites", "aria-hidden": "true" });
    this.pool = [];
    this.used = 0;
    plot.prepend(this.node);
  }

  /** Bring the images in line with what is in view. `highlighted(i)` tells which points are not filtered out. */
  update(run, scene, arm, width, height, now, highlighted) {
    const seen = run && scene.zoom >= ZOOM ? within(scene, arm, width, height, now, highlighted) : [];
    const shown = seen.length <= MOST ? seen : [];
    const size = shown.length <= ROOMY ? 60 : 40;
    shown.forEach(([i, x, y], place) => this.put(place, run, i, x, y, size));
    for (let place = shown.length; place < this.used; place += 1) this.pool[place].node.hidden = true;
    this.used = shown.length;
  }

  put(place, run, i, x, y, size) {
    if (place === this.pool.length) {
      const node = el("span", { class: "rs-picture rs-sprite" });
      this.node.append(node);
      this.pool.push({ node, key: "" });
    }
    const sprite = this.pool[place];
    const key = `${run.id}/${i}`;
    if (sprite.key !== key) thumbnail(sprite.node, run, i);
    sprite.key = key;
    sprite.node.hidden = false;
    sprite.node.style.width = `${size}px`;
    sprite.node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  }
}

/** [i, x, y] of the points in view; gives up as soon as there are too many to show. */
function within(scene, arm, width, height, now, highlighted) {
  const seen = [];
  for (let i = 0; i < scene.count && seen.length <= MOST; i += 1) {
    const [x, y] = scene.toScreen(arm, scene.at(arm, i, now), width, height, now);
    if (x > -20 && y > -20 && x < width && y < height && highlighted(i)) seen.push([i, x, y]);
  }
  return seen;
}
