// Drawing on an image: boxes, or strokes of a brush. Coordinates are fractions of the image; pointer, touch or keys.

import { clamp, el, perFrame } from "./dom.js";
import { fraction } from "./stage.js";

const LEAST = 0.015; // a box narrower than this was a click
const STEP = 0.02;
const MOST_POINTS = 400;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const HELP = {
  box: "Draw a box over what to remove. Arrow keys move a box, with Shift they change its size, Enter takes it.",
  brush: "Paint over what to remove. Arrow keys move the brush, Space paints, Enter takes it.",
};

/** `on`: {drawn(), clear()}; what was drawn is in `region`. */
export class Draw {
  constructor(on) {
    this.on = on;
    this.radius = 0.03;
    this.canvas = el("canvas", { class: "rs-layer rs-draw", tabindex: "0", role: "application", hidden: true });
    this.draw = perFrame(() => this.paint());
    this.clear();
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => this.up());
    canvas.addEventListener("pointercancel", () => this.up());
    canvas.addEventListener("pointerleave", () => { this.tip = null; this.draw(); });
    canvas.addEventListener("keydown", (event) => this.keyed(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** "box", "brush", or null: the image's own objects can be pressed. */
  use(tool, stage) {
    this.tool = tool;
    this.stage = stage;
    this.canvas.hidden = tool === null;
    if (tool) this.canvas.setAttribute("aria-label", HELP[tool]);
    this.clear();
  }

  clear() {
    Object.assign(this, { boxes: [], strokes: [], live: null, tip: null });
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height); // also while it is hidden
    this.draw();
  }

  get region() {
    if (this.boxes.length) return { boxes: this.boxes };
    return this.strokes.length ? { strokes: this.strokes } : null;
  }

  /** The box around everything drawn, for naming it. */
  get around() {
    if (this.boxes.length) return this.boxes.at(-1);
    const [rx, ry] = this.stage.spread(this.strokes[0]?.radius ?? 0);
    const points = this.strokes.flatMap((stroke) => stroke.points);
    if (!points.length) return null;
    const xs = points.map(([x]) => x);
    const ys = points.map(([, y]) => y);
    const ends = [Math.min(...xs) - rx, Math.min(...ys) - ry, Math.max(...xs) + rx, Math.max(...ys) + ry];
    return ends.map((value) => clamp(value, 0, 1));
  }

  down(event) {
    if (event.button > 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const at = fraction(event, this.canvas);
    if (this.tool === "box") this.live = [...at, ...at];
    else {
      this.live = { radius: this.radius, points: [at] };
      this.strokes.push(this.live);
    }
    this.draw();
  }

  move(event) {
    const at = fraction(event, this.canvas);
    this.tip = this.tool === "brush" && event.pointerType !== "touch" ? at : null;
    if (this.live && this.tool === "box") this.live.splice(2, 2, ...at);
    else if (this.live && this.live.points.length < MOST_POINTS && far(this.live.points.at(-1), at)) this.live.points.push(at);
    this.draw();
  }

  up() {
    if (!this.live) return;
    if (this.tool === "box") {
      const [x0, y0, x1, y1] = this.live;
      const box = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
      if (box[2] - box[0] >= LEAST && box[3] - box[1] >= LEAST) this.boxes = [...this.boxes, box].slice(-8);
    }
    this.live = null;
    this.draw();
    if (this.region) this.on.drawn();
  }

  keyed(event) {
    const way = ARROWS[event.key];
    if (way) this.tool === "box" ? this.nudge(way, event.shiftKey) : this.moveTip(way);
    else if (event.key === " " && this.tool === "brush") this.addDot();
    else if (event.key === "Enter" && this.region) this.on.drawn();
    else if (event.key === "Escape") this.on.clear();
    else return;
    event.preventDefault();
    this.draw();
  }

  nudge([dx, dy], resize) {
    if (!this.boxes.length) this.boxes = [[0.35, 0.35, 0.65, 0.65]];
    const [x0, y0, x1, y1] = this.boxes.at(-1);
    const next = resize
      ? [x0, y0, clamp(x1 + dx * STEP, x0 + LEAST, 1), clamp(y1 + dy * STEP, y0 + LEAST, 1)]
      : [x0, y0, x1, y1].map((value, i) => value + (i % 2 ? clamp(dy * STEP, -y0, 1 - y1) : clamp(dx * STEP, -x0, 1 - x1)));
    this.boxes = [...this.boxes.slice(0, -1), next];
  }

  moveTip([dx, dy]) {
    const [x, y] = this.tip ?? [0.5, 0.5];
    this.tip = [clamp(x + dx * STEP, 0, 1), clamp(y + dy * STEP, 0, 1)];
  }

  addDot() {
    this.tip ??= [0.5, 0.5];
    this.strokes.push({ radius: this.radius, points: [this.tip] });
  }

  paint() {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.hidden || !width) return;
    const ratio = window.devicePixelRatio || 1;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, width, height); // Chromium keeps the old picture where the size stays and nothing is drawn
    const scale = ([x, y]) => [x * width, y * height];
    const across = Math.max(width, height);
    const ink = getComputedStyle(canvas).color;
    for (const box of this.tool === "box" && this.live ? [...this.boxes, this.live] : this.boxes) rectangle(pen, scale(box), scale(box.slice(2)), ink);
    pen.globalAlpha = 0.55;
    pen.strokeStyle = pen.fillStyle = ink;
    pen.lineCap = pen.lineJoin = "round";
    for (const { radius, points } of this.strokes) trace(pen, points.map(scale), radius * across * 2);
    if (this.tip) ring(pen, scale(this.tip), this.radius * across);
  }
}

const far = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by) > 0.004;

function rectangle(pen, [x0, y0], [x1, y1], ink) {
  pen.beginPath();
  pen.rect(x0, y0, x1 - x0, y1 - y0);
  pen.globalAlpha = 0.28;
  pen.fillStyle = ink;
  pen.fill();
  outline(pen, ["rgb(0 0 0 / 0.7)", 4], [ink, 2]);
}

function trace(pen, points, wide) {
  pen.lineWidth = wide;
  pen.beginPath();
  pen.moveTo(...points[0]);
  for (const point of points.length > 1 ? points : [points[0], points[0]]) pen.lineTo(...point);
  pen.stroke();
}

function ring(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  outline(pen, ["rgb(0 0 0 / 0.8)", 3], ["white", 1.5]);
}

/** Draw the path in each colour and width, one over the other. */
function outline(pen, ...lines) {
  pen.globalAlpha = 1;
  for (const [colour, wide] of lines) {
    Object.assign(pen, { strokeStyle: colour, lineWidth: wide });
    pen.stroke();
  }
}
