// An image of one's own: by file, dropped, pasted, or from the webcam.

import { el } from "../common/dom.js";
import { button } from "../common/fields.js";
import { acceptFiles } from "../common/files.js";

/** `on`: {taken(file), fail(sentence)}; images may be dropped on `area`. */
export class OwnImage {
  constructor(on, area) {
    this.file = el("input", { type: "file", accept: "image/*", class: "rs-unseen", tabindex: "-1", "aria-hidden": "true" });
    this.file.addEventListener("change", () => {
      const [file] = this.file.files;
      this.file.value = "";
      if (file) on.taken(file);
    });
    const upload = button("Your image", () => this.file.click());
    upload.title = "Choose a file, drop one here, or paste one";
    this.webcam = new Webcam(on);
    this.node = el("div", { class: "rs-flow" }, upload, this.webcam.button, this.file);
    acceptFiles(area, on.taken);
  }
}

const REFUSED = {
  NotAllowedError: "The browser did not allow the camera. Allow it beside the address, or choose a file.",
  NotFoundError: "No camera was found. Choose a file instead.",
  NotReadableError: "Another program uses the camera. Close that program, or choose a file.",
};
const NOWHERE = "The camera can only be used on an https address or on this machine's own. Choose a file instead.";

/** A small window with what the webcam sees, and a button that takes it; `on`: {taken(file), fail(sentence)}. */
class Webcam {
  constructor(on) {
    this.on = on;
    this.button = button("Webcam", () => (this.stream ? this.close() : this.open()));
    this.button.setAttribute("aria-expanded", "false");
    this.video = el("video", { class: "rs-video", autoplay: true, playsinline: true, "aria-label": "What the camera sees" });
    this.video.muted = true;
    this.shoot = button("Take the picture", () => this.take(), "rs-primary");
    this.node = el("div", { class: "rs-stack rs-tight", hidden: true }, this.video, el("div", { class: "rs-flow" }, this.shoot, button("Cancel", () => this.close())));
  }

  async open() {
    if (!navigator.mediaDevices?.getUserMedia) return this.on.fail(NOWHERE);
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1280 } } });
    } catch (error) {
      return this.on.fail(REFUSED[error.name] ?? "The camera cannot be used. Choose a file instead.");
    }
    this.on.fail(null);
    this.video.srcObject = this.stream;
    this.node.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.shoot.focus();
    return undefined;
  }

  take() {
    const { videoWidth: width, videoHeight: height } = this.video;
    if (!width) return;
    const canvas = el("canvas", { width, height });
    canvas.getContext("2d").drawImage(this.video, 0, 0);
    canvas.toBlob((blob) => this.on.taken(blob), "image/jpeg", 0.92);
    this.close();
  }

  close() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = null;
    this.video.srcObject = null;
    this.node.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.button.focus();
  }
}
