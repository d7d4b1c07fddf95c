// The maps as one piece of the page: a grid of cards under one canvas, drawn only when something changed.

import { CanvasMaps } from "./canvas_renderer.js";
import { Card } from "./cards.js";
import { el, perFrame, reducedMotion } from "../common/dom.js";
import { Gestures } from "./gestures.js";
import { WebGlMaps } from "./webgl_renderer.js";
import { MORPH, Scene } from "./scene.js";
import { Sprites } from "./image_sprites.js";

const MAX_SIDE = 8192;

/**
 * `on`: {hover(i | null, arm), choose(i | null, arm), lasso(ids), clear(), cursor(), visible(i): may it be picked,
 * highlighted(i): is it neither filtered out nor outside the lasso, maxRadius(): px from its middle that the largest point reaches,
 * marks(arm, at, size): the rings and trails to draw, `at(i)` being where a point is now and `size` how wide a dot, drawOverlay(card,
 * sprites, width, height, now): what stands beside the points}. `run` is the one whose images are shown; a point is one of
 * them, or a class of them.
 */
export class MapGrid {
  constructor(on) {
    this.on = on;
    this.scene = new Scene();
    this.cards = [];
    this.gestures = [];
    this.canvas = el("canvas", { class: "rs-layer rs-canvas", "aria-hidden": "true" });
    this.grid = el("div", { class: "rs-columns rs-grid" });
    this.node = el("div", { class: "rs-maps" }, this.grid, this.canvas);
    const wanted = new URLSearchParams(location.search).get("renderer");
    this.renderer = (wanted !== "2d" && this.webgl()) || CanvasMaps.create(this.canvas);
    this.renderer.onRestored = () => this.changed();
    this.changed = perFrame(() => this.draw());
    new ResizeObserver(this.changed).observe(this.node);
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", this.changed);
  }

  /** A context whose shaders do not build is as good as none; the canvas is then replaced once, before first use. */
  webgl() {
    try {
      return WebGlMaps.create(this.canvas);
    } catch {
      const fresh = this.canvas.cloneNode();
      this.canvas.replaceWith(fresh);
      this.canvas = fresh;
      return null;
    }
  }

  /** One card per title, with the numbers of the run's kind; the canvas stays. */
  arrange(titles, about) {
    this.scene.clear();
    this.cards = titles.map((title, arm) => new Card(arm, title, about));
    this.gestures = this.cards.map((card) => new Gestures(card.plot, this.actions(card.arm)));
    this.sprites = this.cards.map((card) => new Sprites(card.plot));
    this.grid.replaceChildren(...this.cards.map((card) => card.node));
    this.grid.style.setProperty("--rs-arms", titles.length);
    this.touch();
    this.changed();
  }

  /** Show points at new places, one array per arm: morph to them, or cut where motion is unwelcome. `around`: places that are all
   * in view. */
  show(places, duration = MORPH, around = places) {
    const animate = reducedMotion() ? 0 : duration;
    this.scene.moveTo(places, performance.now(), animate, around);
    this.touch();
    this.send();
  }

  send() {
    if (!this.rgba || this.rgba.length !== this.scene.count * 4) return;
    const arms = this.scene.arms;
    this.renderer.points(arms.map((arm) => arm.before), arms.map((arm) => arm.after), this.rgba, this.sizes);
    this.changed();
  }

  /** Colours of the points; `sizes`: of each against a dot of its own, null: all are such dots. */
  paint(rgba, sizes = null) {
    const same = this.rgba?.length === rgba.length && this.renderer.data && this.sizes === sizes;
    Object.assign(this, { rgba, sizes });
    if (same) this.renderer.colours(rgba);
    else this.send();
    this.changed();
  }

  // --------------------------------------------------------------- drawing

  resize(box) {
    const most = Math.max(box.width, box.height, 1);
    const ratio = Math.min(devicePixelRatio || 1, 2.5, MAX_SIDE / most);
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    return ratio;
  }

  get dotSize() {
    return this.dot(this.size(0)[0]);
  }

  /** Dots shrink as they grow in number and swell a little when zoomed. */
  dot(width) {
    const crowd = Math.max(2.4, Math.min(8.5, 8.5 - 1.45 * Math.log2(Math.max(1, this.scene.count / 250))));
    return crowd * (width < 340 ? 0.85 : 1) * this.scene.zoom ** 0.3;
  }

  draw() {
    const box = this.node.getBoundingClientRect();
    if (!box.width) return;
    const now = performance.now();
    const ratio = this.resize(box);
    const live = this.scene.count > 0 && this.renderer.data;
    const views = this.cards.map((card) => {
      const area = card.plot.getBoundingClientRect();
      const scale = this.scene.scale(area.width, area.height, now);
      const marks = live && this.scene.arms[card.arm] ? this.on.marks(card.arm, (i) => this.scene.at(card.arm, i, now), this.dot(area.width)) : [];
      if (live && this.scene.arms[card.arm]) this.on.drawOverlay(card, this.sprites[card.arm], area.width, area.height, now);
      const [x, y] = [area.left - box.left, area.top - box.top];
      return { x, y, w: area.width, h: area.height, centre: this.scene.worldCentre(card.arm, now), scale, marks };
    });
    const width = views[0]?.w ?? 0;
    this.renderer.draw(live ? views : [], this.scene.part(now), this.dot(width), ratio);
    if (this.scene.moving(now)) this.changed();
  }

  /** A PNG of the canvas as it is now, cut to the maps. */
  snapshot() {
    this.draw();
    const copy = el("canvas", { width: this.canvas.width, height: this.canvas.height });
    copy.getContext("2d").drawImage(this.canvas, 0, 0);
    return copy;
  }

  // -------------------------------------------------------------- gestures

  size(arm) {
    const box = this.cards[arm].plot.getBoundingClientRect();
    return [box.width, box.height];
  }

  viewed() {
    this.touch();
    this.changed();
  }

  /** One finger scrolls the page while everything is in view, and pans once the map is zoomed. */
  touch() {
    for (const card of this.cards) card.plot.classList.toggle("rs-zoomed", !this.scene.whole);
    this.node.classList.toggle("rs-within", !this.scene.whole);
  }

  reset() {
    this.scene.resetView();
    this.viewed();
  }

  lassoMode(on) {
    for (const gesture of this.gestures) gesture.arm(on);
  }

  actions(arm) {
    const { scene, on } = this;
    const now = () => performance.now();
    const find = (pixel, radius) => scene.pick(arm, pixel, ...this.size(arm), now(), Math.max(radius, on.maxRadius()), on.visible);
    return {
      whole: () => scene.whole,
      zoom: (pixel, factor) => {
        const [w, h] = this.size(arm);
        scene.zoomAt(arm, pixel ?? [w / 2, h / 2], factor, w, h, now());
        this.viewed();
      },
      pan: (dx, dy) => {
        scene.pan(arm, dx, dy, ...this.size(arm), now());
        this.viewed();
      },
      reset: () => this.reset(),
      hover: (pixel) => on.hover(pixel && find(pixel, 10), arm),
      choose: (pixel, radius, finger) => {
        const i = find(pixel, radius);
        on.choose(i, arm);
        if (finger) on.hover(i, arm); // what was touched is shown where the finger is
      },
      lasso: (polygon) => on.lasso(scene.inside(arm, polygon, ...this.size(arm), now(), on.visible)),
      move: (dx, dy) => this.step(arm, dx, dy),
      enter: () => on.enter(arm),
      escape: () => on.clear(),
    };
  }

  /** From the point under the cursor, or the middle of the map, to the next one that way. */
  step(arm, dx, dy) {
    if (!this.scene.arms[arm]) return;
    const now = performance.now();
    const [w, h] = this.size(arm);
    const from = this.on.cursor();
    const next =
      from === null
        ? this.scene.pick(arm, [w / 2, h / 2], w, h, now, 1e6, this.on.visible)
        : this.scene.towards(arm, from, dx, dy, this.on.visible);
    if (next === null) return;
    this.scene.reveal(arm, next, w, h, now);
    this.viewed();
    this.on.hover(next, arm, true);
  }
}
