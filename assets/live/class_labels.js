// Names of classes beside their discs on one map; the largest classes first, none over another.

import { el, say } from "../common/dom.js";
import { brief } from "../common/names.js";

const MOST = 40;
const HEIGHT = 15; // px of a line
const LETTER = 6.2; // px, about

export class ClassLabels {
  constructor(plot) {
    this.node = el("div", { class: "rs-layer rs-classlabels", "aria-hidden": "true" });
    this.pool = [];
    this.chosen = [];
    plot.append(this.node);
  }

  /**
   * `discs`: [{name, radius, x, y}] in CSS pixels, the most important first. While the map moves, the same names move along,
   * but for those that meet another: choosing again in every frame would make them flicker.
   */
  update(discs, width, height, moving) {
    if (!moving || this.chosen.some((i) => i >= discs.length)) this.chosen = choice(discs, width, height);
    const shown = moving ? choice(discs, width, height, this.chosen) : this.chosen;
    shown.forEach((i, place) => this.put(place, discs[i], width));
    this.pool.slice(shown.length).forEach((node) => (node.hidden = true));
  }

  hide() {
    this.update([], 0, 0, false);
  }

  put(place, disc, width) {
    if (place === this.pool.length) this.pool.push(this.node.appendChild(el("span", { class: "rs-classlabel" })));
    const node = this.pool[place];
    const [left, top] = corner(disc, width);
    node.hidden = false;
    say(node, brief(disc.name, 24));
    node.style.transform = `translate(${left}px, ${top}px)`;
  }
}

const wide = ({ name }) => Math.min(name.length, 24) * LETTER + 4;

/** Top left of the name below a disc, inside the map's sides. */
function corner(disc, width) {
  const size = wide(disc);
  return [Math.max(2, Math.min(disc.x - size / 2, width - size - 2)), disc.y + disc.radius + 1];
}

/** The numbers of those whose names fit, among `of`. */
function choice(discs, width, height, of = discs.keys()) {
  const taken = [];
  const labelled = [];
  [...of].forEach((i) => {
    const disc = discs[i];
    if (labelled.length >= MOST || disc.x < 0 || disc.x > width || disc.y < 0 || disc.y + disc.radius + HEIGHT > height) return;
    const [left, top] = corner(disc, width);
    const right = left + wide(disc);
    if (taken.some(([l, t, r]) => left < r && right > l && top < t + HEIGHT && top + HEIGHT > t)) return;
    taken.push([left, top, right]);
    labelled.push(i);
  });
  return labelled;
}
