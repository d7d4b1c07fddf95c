// One image, of the maps or of one's own: what is removed from it, by class or by a drawn region.

import { el, say } from "../common/dom.js";
import { button, segments, slider } from "../common/fields.js";
import { percent } from "../common/measures.js";
import { brief, capital } from "../common/names.js";
import { openOriginal } from "../common/original.js";
import { Draw } from "../common/draw.js";
import { Stage } from "../common/stage.js";
import * as search from "./api.js";
import { OwnImage } from "./own_image.js";
import { Picker } from "./picker.js";
import { Task } from "../common/task.js";

export const MAPS = { name: "probe" };
const SIDE = 320;
const HINT = "Choose an image. Then press what to remove, if its objects are known, or draw over it. An image of your own stays in the server's memory for a while and is not written to disk.";
const DRAW = "Draw over what to remove. Arrow keys move the box or the brush, Space paints, Enter compares.";
const PRESS = "Press what to remove, one or several, or draw over it.";

/** `on`: {compare(query, title), look(query, title), fail(sentence)}; a query is {row or upload, remove}. */
export class OneImage {
  constructor(on) {
    this.on = on;
    this.pen = new Draw({ drawn: () => this.drawn(), clear: () => this.clear() });
    this.pen.canvas.addEventListener("keydown", (event) => event.key === "Enter" && this.send());
    this.stage = new Stage(this.pen.canvas);
    this.stage.node.hidden = true;
    this.hint = el("p", { class: "rs-note", text: HINT });
    this.objects = el("div", { class: "rs-flow rs-tight", role: "group", "aria-label": "Known objects", hidden: true });
    this.tool = segments("What is drawn", [["box", "Box"], ["brush", "Brush"]], "box", () => this.use());
    this.brush = slider("Brush", { value: 0.06, low: 0.02, high: 0.2, step: 0.01, words: percent, changed: (value) => { this.pen.radius = value; } });
    this.pen.radius = this.brush.value;
    this.compare = button("Compare", () => this.send(), "rs-primary");
    this.original = button("Original", () => openOriginal("retrieval/original", { run: this.run, row: this.query.row }));
    this.tools = el("div", { class: "rs-flow", hidden: true }, this.tool, this.brush.node, button("Clear", () => this.clear()), this.compare, button("Heat map", () => this.on.look(this.query, this.title)), this.original);
    this.node = el("section", { class: "rs-panel rs-stack rs-tight rs-asking", "aria-label": "One image, before and after" });
    this.own = new OwnImage({ taken: (file) => this.upload(file), fail: on.fail }, this.node);
    this.reading = new Task(search.JOBS, search.STOPPED);
    this.picker = new Picker({ choose: (row) => this.choose(row), fail: on.fail }, this.own.node);
    this.node.append(el("h3", { text: "One image, before and after" }), this.hint, this.picker.node, this.own.webcam.node, this.reading.node, this.stage.node, this.objects, this.tools);
  }

  /** The images on the maps of a run, and the first of them; an image of one's own stays. */
  load(run) {
    if (run === this.run) return;
    this.run = run;
    if (this.query?.upload) this.picker.load(run, MAPS, this.images, null);
    else {
      this.picker.load(run, MAPS, this.images, 0);
      this.choose(0);
    }
  }

  get images() {
    return { id: this.run, imageUrl: (row) => search.imageUrl(this.run, MAPS, row) };
  }

  async choose(row) {
    const turn = (this.turn = {});
    this.reading.stop();
    this.picker.show(row);
    this.show({ row }, search.imageUrl(this.run, MAPS, row, SIDE), `Image ${row + 1}`);
    try {
      const { objects } = await this.reading.answer(await search.objects(this.run, MAPS, row));
      if (turn === this.turn) this.offer(objects);
    } catch (error) {
      if (turn === this.turn) this.on.fail(error.message);
    }
  }

  async upload(file) {
    const turn = (this.turn = {});
    this.on.fail(null);
    try {
      const upload = await search.upload(file);
      if (turn !== this.turn) return;
      this.picker.show(null);
      this.show({ upload }, search.uploadUrl(upload), "Your image");
    } catch (error) {
      if (turn === this.turn) this.on.fail(error.message);
    }
  }

  show(query, url, title) {
    Object.assign(this, { query, title });
    this.stage.node.hidden = this.tools.hidden = false;
    this.original.hidden = Boolean(query.upload);
    this.stage.shape(1, 1); // the centre square, all that an encoder sees
    this.stage.show(url, `${title}, its centre square`);
    this.offer([]);
    this.use();
  }

  /** Buttons of the objects that are known in the image: [{class, share}]. */
  offer(known) {
    this.objects.hidden = !known.length;
    this.objects.replaceChildren(...known.map((object) => this.object(object)));
    say(this.hint, known.length ? PRESS : DRAW);
  }

  object({ class: name, share }) {
    const press = el("button", { type: "button", class: "rs-act", "aria-pressed": "false", text: `${capital(brief(name))}, ${percent(share)} of the image` });
    press.dataset.class = name;
    press.addEventListener("click", () => {
      press.setAttribute("aria-pressed", String(press.getAttribute("aria-pressed") === "false"));
      this.pen.clear();
      this.ready();
    });
    return press;
  }

  use() {
    this.brush.node.hidden = this.tool.value !== "brush";
    this.pen.use(this.tool.value, this.stage);
    this.ready();
  }

  drawn() {
    this.release();
    this.ready();
  }

  clear() {
    this.pen.clear();
    this.release();
    this.ready();
  }

  release() {
    for (const press of this.objects.children) press.setAttribute("aria-pressed", "false");
  }

  /** What is to go: {classes}, what is drawn, or null. */
  get remove() {
    const pressed = [...this.objects.children].filter((press) => press.getAttribute("aria-pressed") === "true");
    return pressed.length ? { classes: pressed.map((press) => press.dataset.class) } : this.pen.region;
  }

  ready() {
    this.compare.disabled = !this.remove || !this.query;
  }

  send() {
    const { remove, query, title } = this;
    if (remove && query) this.on.compare({ ...query, remove }, title);
  }
}
