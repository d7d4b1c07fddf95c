// An image of one's own: by file, dropped, pasted, or from the webcam.

import { el } from "../common/dom.js";
import { button } from "../common/fields.js";
import { acceptFiles } from "../common/files.js";
import { Webcam } from "./webcam.js";

/** `on`: {taken(file), fail(sentence)}; images may be dropped on `area`. */
export class OwnImage {
  constructor(on, area) {
    this.on = on;
    this.file = el("input", { type: "file", accept: "image/*", class: "rs-unseen", tabindex: "-1", "aria-hidden": "true", onchange: () => this.fileChosen() });
    const upload = button("Your image", () => this.file.click());
    upload.title = "Choose a file, drop one here, or paste one";
    this.webcam = new Webcam(on);
    this.node = el("div", { class: "rs-flow" }, upload, this.webcam.button, this.file);
    acceptFiles(area, on.taken);
  }

  fileChosen() {
    const [file] = this.file.files;
    this.file.value = "";
    if (file) this.on.taken(file);
  }
}
