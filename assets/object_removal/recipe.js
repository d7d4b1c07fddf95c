// What one arm of a fine-tuning run is trained on: a card with the arm's colour.

import { el, say } from "../common/dom.js";
import { button, checkbox, field, fields, number, select, slider, text, valuesOf } from "../common/fields.js";
import { ink } from "../common/palette.js";

const ORIGINALS = [
  { name: "all", title: "all of them" },
  { name: "matched", title: "as many pairs as removed ones" },
  { name: "none", title: "none" },
];
const ALL = 1.01; // the slider's right end: as many as there are

/** `on`: {changed(), drop(recipe)}; `start`: of the server. */
export class Recipe {
  constructor(start, values, on) {
    this.texts = start.recipes;
    const fills = start.fills.filter((fill) => !fill.redraws).map((fill) => ({ ...fill, disabled: Boolean(fill.missing) }));
    const changed = () => {
      this.update();
      on.changed();
    };
    const { ratio, ...rest } = { ...start.recipe, ...values };
    this.square = el("span", { "aria-hidden": "true" });
    this.name = el("h3", {});
    this.drop = button("Remove", () => on.drop(this));
    const originals = select(changed, ORIGINALS, rest.originals);
    const removed = checkbox("Images without an object", rest.removed, changed);
    const edited = checkbox("Only captions that named the object (our reading)", rest.only_edited, changed);
    const { controls, labels } = fields({
      text: ["Their captions", select(changed, this.texts, rest.text)],
      fill: ["Filled with", select(changed, fills, rest.fill)],
      captions_each: ["Captions each", number(rest.captions_each, 1, 5, 1, changed)],
      captioner: ["Captioner", text("folder or Hugging Face id", { value: rest.captioner, onchange: changed })],
    });
    this.controls = { originals, removed: removed.input, ...controls, only_edited: edited.input };
    const words = (value) => (value > 1 ? "all there are" : `${value.toFixed(2)} for each original one`);
    this.ratio = slider("Removed pairs of image and caption:", { value: ratio ?? ALL, low: 0.01, high: ALL, step: 0.01, words, changed });
    this.editing = edited.node;
    this.captioning = labels.at(-1);
    this.about = el("p", { class: "rs-note" });
    const head = el("header", { class: "rs-flow" }, this.square, this.name, this.drop);
    const body = [field("Images as they are", originals), removed.node, el("div", { class: "rs-recipefields" }, ...labels), edited.node, this.ratio.node];
    this.node = el("article", { class: "rs-stack rs-recipe" }, head, ...body, this.about);
    this.update();
  }

  /** Which arm this is, and whether it can be removed. */
  place(arm, count) {
    this.square.setAttribute("class", `rs-swatch ${ink(arm)}`);
    this.drop.hidden = count < 2;
    this.drop.setAttribute("aria-label", `Remove recipe ${arm + 1}`);
  }

  update() {
    const { originals, removed, text, fill, captions_each: each, only_edited: edited } = this.controls;
    const source = this.texts.find((offered) => offered.name === text.value);
    const taken = removed.checked;
    this.captioning.hidden = text.value !== "captioner";
    this.editing.hidden = text.value !== "phrases";
    for (const control of [text, fill, each, edited, this.ratio.range]) control.disabled = !taken;
    const chosen = { all: "Originals", matched: "Some originals", none: "" }[originals.value];
    this.title = [chosen, taken ? `${chosen ? "and" : "Only"} removed: ${(source?.title ?? "").toLowerCase()}` : ""].filter(Boolean).join(" ") || "Nothing";
    this.named([]);
    say(this.about, !chosen && !taken ? "Nothing is left to train on: choose originals, removed images or both." : taken ? (source?.sentence ?? "") : "Nothing is removed: the comparison that shows what removal changes.");
  }

  /** The title, and in a few words what sets this recipe apart from others of the same title. */
  named(apart) {
    say(this.name, [this.title, ...apart].join(", "));
  }

  /** What removed images may differ in, in words. */
  get facts() {
    const { removed, ratio, captions_each: each, only_edited: edited } = this.values;
    if (!removed) return [];
    return [
      `filled with ${this.controls.fill.selectedOptions[0]?.text ?? ""}`,
      ratio === null ? "all pairs" : `${ratio.toFixed(2)} pairs for each original`,
      each === 1 ? "one caption each" : `${each} captions each`,
      edited ? "edited captions only" : "edited captions first",
    ];
  }

  get values() {
    const { captioner, ...values } = valuesOf(this.controls);
    const ratio = this.ratio.value > 1 ? null : this.ratio.value;
    return { ...values, ratio, ...(values.text === "captioner" && { captioner: captioner?.trim() ?? "" }) };
  }
}

/** Give every recipe a title of its own: those that would share one say what sets them apart. */
export function distinguish(recipes) {
  for (const recipe of recipes) {
    const alike = recipes.filter((other) => other.title === recipe.title);
    const apart = recipe.facts.filter((fact, i) => alike.some((other) => other.facts[i] !== fact));
    const twins = alike.filter((other) => other.facts.join() === recipe.facts.join());
    recipe.named(twins.length > 1 ? [...apart, `number ${twins.indexOf(recipe) + 1}`] : apart);
  }
}
