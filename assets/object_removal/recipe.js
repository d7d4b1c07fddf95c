// What one arm of a fine-tuning run is trained on: a card with the arm's colour.

import { el, say } from "../common/dom.js";
import { button, field, number, select, slider, text } from "../common/fields.js";
import { ARM_NAMES } from "../common/palette.js";

const ORIGINALS = [
  { name: "all", title: "all of them" },
  { name: "matched", title: "as many pairs as removed ones" },
  { name: "none", title: "none" },
];
const TEXTS = [
  { name: "phrases", title: "Own, phrase deleted", sentence: "A removed object's noun phrase is deleted from the image's own caption." },
  { name: "prompts", title: "Prompts", sentence: "“A photo of” and the classes that stay, in one of 80 forms." },
  { name: "captioner", title: "Captioner", sentence: "A captioner describes the filled image." },
];
const ALL = 1.01; // the slider's right end: as many as there are

/** `on`: {changed(), drop(recipe)}; `start`: of the server. */
export class Recipe {
  constructor(start, values, on) {
    this.texts = start.recipes.length ? start.recipes : TEXTS;
    const fills = start.fills.filter((fill) => !fill.redraws).map((fill) => ({ ...fill, disabled: Boolean(fill.missing) }));
    const changed = () => {
      this.tell();
      on.changed();
    };
    const { ratio, ...rest } = { ...start.recipe, ...values };
    this.square = el("span", { "aria-hidden": "true" });
    this.name = el("h3", {});
    this.drop = button("Remove", () => on.drop(this));
    this.originals = select(changed, ORIGINALS, rest.originals);
    this.removed = el("input", { type: "checkbox", checked: rest.removed, onchange: changed });
    this.text = select(changed, this.texts, rest.text);
    this.fill = select(changed, fills, rest.fill);
    const words = (value) => (value > 1 ? "all there are" : `${value.toFixed(2)} for each original one`);
    this.ratio = slider("Removed pairs of image and caption:", { value: ratio ?? ALL, low: 0.01, high: ALL, step: 0.01, words, changed });
    this.each = number(rest.captions_each, 1, 5, 1, changed);
    this.edited = el("input", { type: "checkbox", checked: rest.only_edited, onchange: changed });
    this.captioner = text("folder or Hugging Face id", { value: rest.captioner, onchange: changed });
    this.captioning = field("Captioner", this.captioner);
    this.about = el("p", { class: "rs-note" });
    const check = el("label", { class: "rs-check" }, this.removed, el("span", { text: "Images without an object" }));
    this.more = el("div", { class: "rs-recipefields" }, field("Their captions", this.text), field("Filled with", this.fill), field("Captions each", this.each), this.captioning);
    this.editing = el("label", { class: "rs-check" }, this.edited, el("span", { text: "Only captions that named the object (our reading)" }));
    const head = el("header", {}, this.square, this.name, this.drop);
    this.node = el("article", { class: "rs-recipe" }, head, field("Images as they are", this.originals), check, this.more, this.editing, this.ratio.node, this.about);
    this.tell();
  }

  /** Which arm this is, and whether it may leave. */
  place(arm, count) {
    this.square.setAttribute("class", `rs-swatch rs-${ARM_NAMES[arm]}`);
    this.drop.hidden = count < 2;
    this.drop.setAttribute("aria-label", `Remove recipe ${arm + 1}`);
  }

  tell() {
    const source = this.texts.find((one) => one.name === this.text.value);
    const removed = this.removed.checked;
    this.captioning.hidden = this.text.value !== "captioner";
    this.editing.hidden = this.text.value !== "phrases";
    for (const control of [this.text, this.fill, this.each, this.edited, this.ratio.range]) control.disabled = !removed;
    const own = { all: "Originals", matched: "Some originals", none: "" }[this.originals.value];
    this.title = [own, removed ? `${own ? "and" : "Only"} removed: ${(source?.title ?? "").toLowerCase()}` : ""].filter(Boolean).join(" ") || "Nothing";
    this.named([]);
    say(this.about, !own && !removed ? "Nothing is left to train on: choose originals, removed images or both." : removed ? (source?.sentence ?? "") : "Nothing is removed: the comparison that shows what removal changes.");
  }

  /** The title, and in a few words what sets this recipe apart from others of the same title. */
  named(apart) {
    say(this.name, [this.title, ...apart].join(", "));
  }

  /** What removed images may differ in, in words. */
  get facts() {
    if (!this.removed.checked) return [];
    const share = this.ratio.value;
    const each = Number(this.each.value);
    return [
      `filled with ${this.fill.selectedOptions[0]?.text ?? ""}`,
      share > 1 ? "all pairs" : `${share.toFixed(2)} pairs for each original`,
      each === 1 ? "one caption each" : `${each} captions each`,
      this.edited.checked ? "edited captions only" : "edited captions first",
    ];
  }

  get values() {
    const share = this.ratio.value;
    const values = {
      originals: this.originals.value,
      removed: this.removed.checked,
      text: this.text.value,
      fill: this.fill.value,
      ratio: share > 1 ? null : share,
      captions_each: Number(this.each.value),
      only_edited: this.edited.checked,
    };
    return this.text.value === "captioner" ? { ...values, captioner: this.captioner.value.trim() } : values;
  }
}

/** Recipes of a preset: the paper's experiments have up to four. */
export function recipesOf(preset) {
  return preset?.values.recipes ?? [{}];
}

/** Give every recipe a title of its own: those that would share one say what sets them apart. */
export function tellApart(recipes) {
  for (const recipe of recipes) {
    const alike = recipes.filter((other) => other.title === recipe.title);
    const apart = recipe.facts.filter((fact, i) => alike.some((other) => other.facts[i] !== fact));
    const twins = alike.filter((other) => other.facts.join() === recipe.facts.join());
    recipe.named(twins.length > 1 ? [...apart, `number ${twins.indexOf(recipe) + 1}`] : apart);
  }
}
