// An image of one's own whose object is painted over with the brush of the tab "Remove an object".

import { el, say } from "../common/dom.js";
import { button, slider } from "../common/fields.js";
import { percent } from "../common/measures.js";
import { Draw } from "../object_removal/draw.js";
import { Stage } from "../object_removal/stage.js";
import * as search from "./api.js";
import { OwnImage } from "./own_image.js";

const HINT = "Choose a file, drop or paste one here; then paint over its object. It stays in the server's memory for a while and is not written to disk.";
const PAINT = "Paint over the object. Arrow keys move the brush, Space paints, Enter compares.";

/** `on`: {compare(upload, drawing), fail(sentence)}. */
export class BrushedImage {
  constructor(on) {
    this.on = on;
    this.pen = new Draw({ drawn: () => this.ready(), clear: () => this.clear() });
    this.stage = new Stage(this.pen.canvas);
    this.stage.node.hidden = true;
    this.hint = el("p", { class: "rs-note", text: HINT });
    this.brush = slider("Brush", { value: 0.06, low: 0.02, high: 0.2, step: 0.01, words: percent, changed: (value) => { this.pen.radius = value; } });
    this.compare = button("Compare", () => this.send());
    this.tools = el("div", { class: "rs-flow", hidden: true }, this.brush.node, button("Clear", () => this.clear()), this.compare);
    this.pen.canvas.addEventListener("keydown", (event) => event.key === "Enter" && this.send());
    this.node = el("section", { class: "rs-panel rs-stack rs-tight rs-asking", "aria-label": "Your own image" });
    this.own = new OwnImage({ taken: (file) => this.take(file), fail: on.fail }, this.node);
    this.node.append(el("h3", { text: "Your own image" }), this.hint, this.own.node, this.own.webcam.node, this.stage.node, this.tools);
    this.pen.radius = this.brush.value;
  }

  async take(file) {
    const turn = (this.turn = {});
    this.on.fail(null);
    try {
      const upload = await search.upload(file);
      if (turn !== this.turn) return;
      this.upload = upload;
      this.stage.node.hidden = this.tools.hidden = false;
      this.stage.shape(1, 1); // the centre square, all that an encoder sees
      this.stage.show(search.uploadUrl(upload), "Your image, its centre square");
      this.pen.use("brush", this.stage);
      this.clear();
      say(this.hint, PAINT);
    } catch (error) {
      if (turn === this.turn) this.on.fail(error.message);
    }
  }

  ready() {
    this.compare.disabled = !this.pen.region;
  }

  clear() {
    this.pen.clear();
    this.ready();
  }

  send() {
    const { region } = this.pen;
    if (region && this.upload) this.on.compare(this.upload, region);
  }
}
