// An image: every object in it a button over its box, and tools to mark what has no box.

import { base } from "../common/api.js";
import { el, onPoint, say } from "../common/dom.js";
import { Draw } from "../common/draw.js";
import { button, segments, slider } from "../common/fields.js";
import { listed, percent } from "../common/measures.js";
import { over, Stage } from "../common/stage.js";

const SIDE = 768;
const ELSEWHERE = "#rs-object-images"; // where another image is chosen
const AWAITED = 60_000; // ms that one is taken to be on its way
const CROWDED = 6; // with more boxes than this a label shows only where one points
const WAYS = [["objects", "Objects"], ["box", "Box"], ["brush", "Brush"], ["name", "Name"]];
const PENS = { objects: null, box: "box", brush: "brush", name: "box" };
const HINTS = {
  objects: "Press an object to take it out of the image.",
  none: "No object is marked in this image. Draw a box around one, or paint over it.",
  box: "Drag a box around what to remove; several boxes go together.",
  brush: "Paint over what to remove.",
  name: "Draw a box around something that stays, then write what it is: captions that name it count as right.",
};

export function mount(element, { value, watch, remove, draw, tool }) {
  const picker = new Picker(element.querySelector(".rs-picker"), { remove, draw, tool });
  const show = () => picker.show(value());
  watch(show);
  show();
}

/** `on`: {remove({classes}), draw({boxes | strokes, around, stays}), tool({name})}. */
class Picker {
  constructor(host, on) {
    this.on = on;
    this.layer = el("div", { class: "rs-layer rs-boxes" });
    this.pen = new Draw({ drawn: () => this.drawn(), clear: () => this.pen.clear() });
    this.stage = new Stage(this.layer, this.pen.canvas);
    this.hint = el("p", { class: "rs-note rs-hint" });
    this.tools = segments("What pressing the image does", WAYS, "objects", (tool) => this.choose(tool));
    this.brush = slider("Brush", { value: 0.03, low: 0.01, high: 0.12, step: 0.005, words: percent, changed: (value) => { this.pen.radius = value; } });
    this.drawing = el("div", { class: "rs-flow rs-tight rs-drawing", hidden: true }, button("Clear", () => this.pen.clear()), this.brush.node);
    const head = el("header", { class: "rs-flow" }, el("h3", { text: "Original" }), this.tools);
    const foot = el("div", { class: "rs-stack rs-tight rs-foot" }, this.hint, this.drawing);
    this.stage.shape(1, 1);
    host.replaceChildren(el("section", { class: "rs-side", "aria-label": "Original image" }, head, this.stage.node, foot));
    for (const name of ["click", "input"]) document.addEventListener(name, ({ target }) => target.closest?.(ELSEWHERE) && this.leave());
  }

  /** Another image may be on its way: the tool that is chosen from now on is meant for it. */
  leave() {
    this.ahead = null;
    this.leaving = Date.now();
  }

  choose(tool) {
    if (Date.now() - this.leaving < AWAITED) this.ahead = tool;
    this.use(tool);
  }

  get tool() {
    return this.tools.value;
  }

  /** `value`: {image, removed}, the image as explorer/tabs/object_removal/images.py describes it; null: none yet. */
  show(value) {
    if (!value) return;
    const key = JSON.stringify([value.image.ref, value.image.objects]);
    if (key !== this.key) this.another(value.image);
    this.key = key;
    this.mark(value.removed);
  }

  /** Another image, or the same one with objects found in it. */
  another(image) {
    this.image = image;
    this.stage.shape(image.width, image.height);
    this.stage.show(`${base()}/objects/image/${encodeURIComponent(image.ref)}/pixels?side=${SIDE}`, image.alt || "The image");
    this.boxes();
    this.tools.querySelector("input[value=objects]").disabled = !image.objects.length;
    this.tools.querySelector("input[value=name]").parentElement.hidden = image.source !== "upload";
    this.tools.value = this.meant(image);
    this.ahead = this.leaving = null;
    this.use(this.tool);
  }

  /** The tool that was chosen while this image was awaited, if it has a use here; else the usual one. */
  meant(image) {
    const { ahead } = this;
    const useful = { objects: image.objects.length > 0, name: image.source === "upload" }[ahead] ?? true;
    return ahead && useful ? ahead : image.objects.length ? "objects" : "box";
  }

  boxes() {
    const many = this.image.objects.reduce((sum, object) => sum + object.boxes.length, 0) > CROWDED;
    this.layer.classList.toggle("rs-crowded", many);
    const placed = this.image.objects.flatMap((object) => {
      const largest = object.boxes.reduce((best, box) => (area(box) > area(best) ? box : best), object.boxes[0]);
      return object.boxes.map((box) => [box, this.box(object, box, box === largest)]);
    });
    placed.sort(([a], [b]) => area(b) - area(a)); // small ones lie on top, so that each can be reached
    this.layer.replaceChildren(...placed.map(([, node]) => node));
  }

  /** One class is one stop for the keyboard; its other boxes can be pressed too. */
  box(object, box, first) {
    const node = el("button", { type: "button", class: "rs-box", "aria-pressed": "false", ...(first ? {} : { tabindex: "-1", "aria-hidden": "true" }) });
    const more = first && object.problems.length ? el("span", { class: "rs-unseen", text: `. ${object.problems.join(" ")}` }) : null;
    node.append(el("span", { class: "rs-boxname" }, el("span", { text: object.class }), more));
    node.classList.toggle("rs-namebelow", box[1] < 0.07);
    node.classList.toggle("rs-nameleft", box[0] > 0.7);
    node.classList.toggle("rs-warns", object.problems.length > 0);
    node.dataset.class = object.class;
    node.addEventListener("click", () => this.on.remove({ classes: [object.class] }));
    onPoint(node, (pointed) => this.point(pointed ? object : null));
    return over(node, box);
  }

  /** Say what taking out this object would mean, and light all its boxes. */
  point(object) {
    for (const node of this.layer.children) node.classList.toggle("rs-pointed", node.dataset.class === object?.class);
    if (!object) return this.showHint();
    const along = object.removes.filter((name) => name !== object.class);
    const parts = [`${object.class}: ${percent(object.share)} of the image.`];
    if (along.length) parts.push(`It hides ${listed(along)}, which ${along.length > 1 ? "go" : "goes"} with it.`);
    say(this.hint, [...parts, ...object.problems].join(" "));
    return this.hint.classList.toggle("rs-warning", object.problems.length > 0);
  }

  showHint() {
    this.hint.classList.remove("rs-warning");
    say(this.hint, this.tool === "objects" || this.image.objects.length ? HINTS[this.tool] : HINTS.none);
  }

  /** Mark what the shown removal took out. */
  mark(removed) {
    for (const node of this.layer.children) node.setAttribute("aria-pressed", String(removed.includes(node.dataset.class)));
  }

  use(tool) {
    this.pen.use(PENS[tool], this.stage);
    this.layer.inert = tool !== "objects";
    this.drawing.hidden = tool === "objects";
    this.brush.node.hidden = tool !== "brush";
    this.showHint();
    this.on.tool({ name: tool });
  }

  drawn() {
    say(this.hint, HINTS[this.tool]);
    const { around } = this.pen;
    if (this.tool === "name") this.pen.boxes = [around]; // one thing at a time
    this.on.draw({ ...this.pen.region, around, stays: this.tool === "name" });
  }
}

const area = ([x0, y0, x1, y1]) => (x1 - x0) * (y1 - y0);
