// Where every point is, and what part of the maps is in view. No drawing, no DOM.

import { clamp } from "../common/dom.js";

export const MORPH = 500; // ms
const MARGIN = 0.95; // share of a map that the box takes
const ROOM = 1.08; // a box is larger than what it holds by as much
const ZOOM = [1, 60];
const PULLED = 3; // zoom from which the other maps are centred on the points that are held
const REACH = 2.2; // boxes that a map can be moved by

const ease = (t) => (t < 0.5 ? 2 * t * t : 1 - (2 - 2 * t) ** 2 / 2);

/** Coordinates of all arms, morphing from one frame to the next. One zoom for all of them; zoomed, each is centred on the same
 * points. */
export class Scene {
  constructor() {
    this.arms = [];
    this.box = [1, 1];
    this.middle = [0, 0];
    this.started = 0;
    this.duration = 0;
    this.resetView();
  }

  get count() {
    return this.arms.length ? this.arms[0].after.length / 2 : 0;
  }

  clear() {
    this.arms = [];
    this.resetView();
  }

  /** Move to new places. `places`: one Float32Array [x, y, x, y, ...] per arm; `around`: places of the same form that the box
   * holds. */
  moveTo(places, now, animate, around = places) {
    const part = this.part(now);
    const [extent, middle] = [this.extent(now), this.mid(now)];
    const same = this.arms.length === places.length && this.count === places[0].length / 2;
    this.arms = places.map((after, arm) => {
      const before = same && animate ? blend(this.arms[arm], part) : after;
      return { before, after };
    });
    if (!same) this.resetView();
    const fit = fitted(around, same ? this : null);
    this.before = same && animate ? { box: extent, middle } : fit;
    Object.assign(this, fit);
    this.started = now;
    this.duration = same && animate ? animate : 0;
    this.anchor();
  }

  moving(now) {
    return this.duration > 0 && now - this.started < this.duration;
  }

  /** How far the morph has come, 0 to 1. */
  part(now) {
    if (!this.duration) return 1;
    return ease(clamp((now - this.started) / this.duration, 0, 1));
  }

  /** Half-width and half-height of the box around all maps, and where its middle is; they change along with the morph, so no
   * axis jumps. */
  extent(now) {
    return this.between("box", now);
  }

  mid(now) {
    return this.between("middle", now);
  }

  between(what, now) {
    const t = this.part(now);
    return this[what].map((to, axis) => {
      const from = this.before?.[what][axis] ?? to;
      return from + (to - from) * t;
    });
  }

  /** The unit in which the centre of the view is kept. */
  unit(now) {
    return Math.max(...this.extent(now));
  }

  at(arm, i, now) {
    const { before, after } = this.arms[arm];
    const t = this.part(now);
    return [before[i * 2] + (after[i * 2] - before[i * 2]) * t, before[i * 2 + 1] + (after[i * 2 + 1] - before[i * 2 + 1]) * t];
  }

  // ------------------------------------------------------------------ view

  resetView() {
    this.zoom = 1;
    this.held = []; // points that are in view in the map that was zoomed or moved last
    this.anchors = []; // of each arm the middle of those points before and after the morph
    this.offset = null; // {arm, by}: of that map from its anchor, in boxes, so that a growing box keeps the view
  }

  get whole() {
    return this.zoom === 1;
  }

  /** CSS pixels per unit in a map of this size. */
  scale(width, height, now) {
    const [x, y] = this.extent(now);
    return (Math.min(width / x, height / y) / 2) * MARGIN * this.zoom;
  }

  /** The point in the middle of a map. A little zoomed it is near the middle of all points, further the points that are held. */
  worldCentre(arm, now) {
    const unit = this.unit(now);
    const by = this.offset?.arm === arm ? this.offset.by : [0, 0];
    return this.base(arm, now).map((middle, axis) => middle + by[axis] * unit);
  }

  base(arm, now) {
    const middle = this.mid(now);
    const anchor = this.anchors[arm];
    if (!anchor) return middle;
    const [t, pull] = [this.part(now), Math.min(1, Math.log(this.zoom) / Math.log(PULLED))];
    return middle.map((all, axis) => all + pull * (anchor.before[axis] + (anchor.after[axis] - anchor.before[axis]) * t - all));
  }

  toScreen(arm, [x, y], width, height, now) {
    const scale = this.scale(width, height, now);
    const [cx, cy] = this.worldCentre(arm, now);
    return [width / 2 + (x - cx) * scale, height / 2 - (y - cy) * scale];
  }

  toWorld(arm, [px, py], width, height, now) {
    const scale = this.scale(width, height, now);
    const [cx, cy] = this.worldCentre(arm, now);
    return [cx + (px - width / 2) / scale, cy - (py - height / 2) / scale];
  }

  /** Zoom by `factor`, keeping what lies under the pixel in place. */
  zoomAt(arm, pixel, factor, width, height, now) {
    const held = this.toWorld(arm, pixel, width, height, now);
    this.zoom = clamp(this.zoom * factor, ...ZOOM);
    const scale = this.scale(width, height, now);
    this.view(arm, [held[0] - (pixel[0] - width / 2) / scale, held[1] + (pixel[1] - height / 2) / scale], width, height, now);
  }

  /** Pan by CSS pixels. */
  pan(arm, dx, dy, width, height, now) {
    const scale = this.scale(width, height, now);
    const [x, y] = this.worldCentre(arm, now);
    this.view(arm, [x - dx / scale, y + dy / scale], width, height, now);
  }

  /** Let a place be the middle of a map, and in the other maps the points that are in view there. */
  view(arm, place, width, height, now) {
    if (this.whole) {
      this.resetView();
      return;
    }
    const scale = this.scale(width, height, now);
    const [left, up] = [width / 2 / scale, height / 2 / scale];
    const held = [];
    for (let i = 0; i < this.count; i += 1) {
      const [x, y] = this.at(arm, i, now);
      if (Math.abs(x - place[0]) < left && Math.abs(y - place[1]) < up) held.push(i);
    }
    if (held.length) this.held = held; // between points those that were held stay so
    this.anchor();
    const [unit, base] = [this.unit(now), this.base(arm, now)];
    this.offset = { arm, by: place.map((to, axis) => clamp((to - base[axis]) / unit, -REACH, REACH)) };
  }

  /** Work out where the middle of the held points is in every map. */
  anchor() {
    this.anchors = this.held.length ? this.arms.map(({ before, after }) => ({ before: middleOf(before, this.held), after: middleOf(after, this.held) })) : [];
  }

  /** Bring point `i` into view when it lies outside a map of this size. */
  reveal(arm, i, width, height, now) {
    const [px, py] = this.toScreen(arm, this.at(arm, i, now), width, height, now);
    if (px > 12 && py > 12 && px < width - 12 && py < height - 12) return;
    this.pan(arm, width / 2 - px, height / 2 - py, width, height, now);
  }

  // --------------------------------------------------------------- finding

  /** Point nearest to the pixel within `radius` CSS pixels, or null. `wanted(i)` leaves points out. */
  pick(arm, pixel, width, height, now, radius, wanted) {
    if (!this.arms[arm]) return null;
    const [x, y] = this.toWorld(arm, pixel, width, height, now);
    const reach = radius / this.scale(width, height, now);
    const t = this.part(now);
    const { before, after } = this.arms[arm];
    let [best, least] = [null, reach * reach];
    for (let i = 0; i < after.length / 2; i += 1) {
      const dx = before[i * 2] + (after[i * 2] - before[i * 2]) * t - x;
      const dy = before[i * 2 + 1] + (after[i * 2 + 1] - before[i * 2 + 1]) * t - y;
      const away = dx * dx + dy * dy;
      if (away < least && wanted(i)) [best, least] = [i, away];
    }
    return best;
  }

  /** Nearest point from `i` towards (dx, dy): distance counts more when the direction is off. */
  towards(arm, i, dx, dy, wanted) {
    const { after } = this.arms[arm];
    const [x, y] = [after[i * 2], after[i * 2 + 1]];
    let [best, least] = [null, Infinity];
    for (let j = 0; j < after.length / 2; j += 1) {
      if (j === i || !wanted(j)) continue;
      const along = (after[j * 2] - x) * dx + (after[j * 2 + 1] - y) * dy;
      const across = Math.abs((after[j * 2] - x) * dy - (after[j * 2 + 1] - y) * dx);
      if (along <= 0 || across > along) continue;
      const cost = along + across * 2;
      if (cost < least) [best, least] = [j, cost];
    }
    return best;
  }

  /** Indices inside a polygon of CSS pixels. */
  inside(arm, polygon, width, height, now, wanted) {
    const corners = polygon.map((pixel) => this.toWorld(arm, pixel, width, height, now));
    const points = [];
    for (let i = 0; i < this.count; i += 1) {
      if (wanted(i) && contains(corners, this.at(arm, i, now))) points.push(i);
    }
    return points;
  }
}

/** The box that holds the places of all maps: {box: half-width and half-height, middle}. One that holds them is kept until it is
 * much too large, so that it changes seldom. */
function fitted(maps, before) {
  const sides = [0, 1].map((axis) => {
    let [low, high] = [Infinity, -Infinity];
    for (const places of maps) {
      for (let i = axis; i < places.length; i += 2) {
        low = Math.min(low, places[i]);
        high = Math.max(high, places[i]);
      }
    }
    return low <= high ? [low, high] : [0, 0];
  });
  const within = ([low, high], axis) => low >= before.middle[axis] - before.box[axis] && high <= before.middle[axis] + before.box[axis];
  const large = ([low, high], axis) => high - low >= before.box[axis];
  if (before && sides.every(within) && sides.some(large)) return { box: before.box, middle: before.middle };
  return { box: sides.map(([low, high]) => Math.max(((high - low) / 2) * ROOM, 1e-6)), middle: sides.map(([low, high]) => (low + high) / 2) };
}

/** The median of some places along each axis: [x, y]. */
export function middleOf(places, points) {
  return [0, 1].map((axis) => Float32Array.from(points, (i) => places[i * 2 + axis]).sort()[points.length >> 1]);
}

function blend({ before, after }, part) {
  if (part === 1) return after;
  return after.map((to, i) => before[i] + (to - before[i]) * part);
}

function contains(corners, [x, y]) {
  let within = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i, i += 1) {
    const [[ax, ay], [bx, by]] = [corners[i], corners[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}
