// What stands under the image while something is drawn: its name, a guess at it, the brush, and finding objects.

import { el, say } from "../common/dom.js";
import { button, choose, select, slider, text } from "../common/fields.js";
import { percent } from "../common/measures.js";

let count = 0;

/** `on`: {name(box), around(), detect(detector), drawn(), clear(), radius(value), fail(sentence)}. */
export class Naming {
  constructor(on) {
    this.on = on;
    count += 1;
    this.known = el("datalist", { id: `rs-classes-${count}` });
    this.text = text("name of what goes", { maxlength: 60, list: this.known.id, spellcheck: null, "aria-label": "What is drawn" });
    this.text.addEventListener("change", () => this.name && on.drawn());
    this.guessButton = button("Name it", () => this.again());
    this.brush = slider("Brush", { value: 0.03, low: 0.01, high: 0.12, step: 0.005, words: (value) => percent(value), changed: on.radius });
    this.guesses = el("div", { class: "rs-guesses", hidden: true, role: "group", "aria-label": "It may be" });
    this.row = el("div", { class: "rs-flow rs-tight rs-drawing", hidden: true }, this.text, this.known, this.guessButton, button("Clear", on.clear), this.brush.node);
    this.detector = select(() => {});
    this.detector.setAttribute("aria-label", "Detector");
    this.find = button("Find objects", () => on.detect(this.detector.value));
    this.finding = el("div", { class: "rs-flow rs-tight rs-drawing", hidden: true }, this.find, this.detector);
    this.node = el("div", { class: "rs-stack" }, this.finding, this.row, this.guesses);
  }

  get name() {
    return this.text.value.trim();
  }

  /** Detectors, shown for uploads; the grey ones need something installed. */
  detectors(list, image) {
    const ready = list.filter((entry) => !entry.missing);
    this.ready = ready.length > 0;
    choose(this.detector, list.map((entry) => ({ ...entry, disabled: Boolean(entry.missing) })), ready[0]?.name);
    this.detector.hidden = list.length < 2;
    this.finding.hidden = image.source !== "upload" || !this.ready;
  }

  image(image, classes = []) {
    this.finding.hidden = image.source !== "upload" || !this.ready;
    const names = [...new Set([...image.objects.map((object) => object.class), ...classes])];
    this.known.replaceChildren(...names.slice(0, 500).map((value) => el("option", { value })));
    this.forget();
  }

  use(tool) {
    this.row.hidden = this.guesses.hidden = tool === "objects";
    this.brush.node.hidden = tool !== "brush";
    this.forget();
  }

  forget() {
    this.text.value = "";
    this.offered = null;
    this.guesses.replaceChildren();
  }

  async again() {
    const box = this.on.around();
    if (!box) return this.on.fail("Draw something first, then it can be named.");
    await this.guess(box);
    return this.on.drawn();
  }

  /** Ask the model what the box shows and take its first answer. */
  async guess(box) {
    const turn = (this.offered = {});
    this.guessButton.disabled = true;
    say(this.guessButton, "Naming …");
    try {
      const names = await this.on.name(box);
      if (turn !== this.offered || !names.length) return;
      this.text.value = names[0].class;
      this.guesses.replaceChildren(...names.slice(0, 5).map((guess) => this.offer(guess)));
    } catch (error) {
      this.on.fail(`${error.message} Write what it is, then press Enter.`);
    } finally {
      this.guessButton.disabled = false;
      say(this.guessButton, "Name it");
    }
  }

  offer(guess) {
    const take = () => {
      this.text.value = guess.class;
      this.on.drawn();
    };
    return el("button", { type: "button", class: "rs-act rs-guess", onclick: take }, el("span", { text: guess.class }), el("span", { class: "rs-namingscore", text: percent(guess.score) }));
  }
}
