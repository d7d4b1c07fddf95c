// The row on top: which photos, which models, which fill.

import { el, say } from "../common/dom.js";
import * as api from "./api.js";
import { biasForm } from "./bias.js";
import { button, choose, field, fold, Problem, select } from "./fields.js";
import { Waiting } from "./waiting.js";
import { ARM_NAMES } from "../common/palette.js";

const RERENDER = "rerender"; // a fill for drawn scenes alone

/** `on`: {set(set), models([name, ...]), fill(name)}. */
export class Settings {
  constructor(on) {
    this.on = on;
    this.sets = select((name) => on.set(this.start.sets.find((set) => set.name === name)));
    this.models = [0, 1].map(() => select(() => this.chose()));
    this.fills = select((name) => { this.wanted = name; on.fill(name); this.explain(); });
    this.about = el("p", { class: "rs-note" });
    const models = this.models.map((node, arm) => field(arm ? "Compared with" : "Model", node, { class: `rs-field rs-armfield rs-${ARM_NAMES[arm]}` }));
    const row = el("div", { class: "rs-choices" }, field("Photos", this.sets), ...models, field("Fill", this.fills));
    this.missing = el("ul", { class: "rs-missing" });
    this.more = fold("Open another set, add a model", el("div", { class: "rs-folds" }, ...this.opening(), this.adding()));
    this.lacking = el("div", { class: "rs-lacking" }, fold("How to get what is grey", this.missing));
    this.node = el("section", { class: "rs-settings", "aria-label": "Photos, models and fill" }, row, el("div", { class: "rs-underchoices" }, this.about, this.lacking, this.more));
  }

  load(start) {
    this.start = start;
    this.wanted = start.fill;
    choose(this.sets, start.sets, start.set);
    const chosen = this.models[0].value ? this.chosen : start.chosen;
    this.offer(chosen);
    this.listMissing();
    this.rerender(false);
    this.explain();
  }

  /** The models to choose from; those that cannot be loaded are listed, greyed. */
  offer(chosen) {
    const choices = this.start.models.map((model) => ({ ...model, disabled: !model.ready || model.trained === false }));
    choose(this.models[0], choices, chosen[0]);
    choose(this.models[1], [{ name: "", title: "one model only" }, ...choices], chosen[1] ?? "");
  }

  get chosen() {
    const names = this.models.map((node) => node.value).filter(Boolean);
    return [...new Set(names)];
  }

  get fill() {
    return this.fills.value;
  }

  /** A fill that paints, for photos that were not drawn here. */
  get paint() {
    return this.fill === RERENDER ? this.start.fill : this.fill;
  }

  /** Titles of the chosen models. */
  get titles() {
    return this.chosen.map((name) => this.title(name));
  }

  title(name) {
    return this.start.models.find((model) => model.name === name)?.title ?? name;
  }

  chose() {
    this.explain();
    this.on.models(this.chosen);
  }

  /** Whether the shown photo can be drawn again without an object. */
  rerender(possible) {
    const offered = this.start.fills.filter((fill) => possible || fill.name !== RERENDER);
    choose(this.fills, offered.map((fill) => ({ ...fill, disabled: Boolean(fill.missing) })), null);
    const known = offered.some((fill) => fill.name === this.wanted && !fill.missing);
    this.fills.value = known ? this.wanted : this.start.fill;
  }

  explain() {
    const set = this.start.sets.find((one) => one.name === this.sets.value);
    const fill = this.start.fills.find((one) => one.name === this.fill)?.sentence;
    this.fills.title = fill ?? "";
    for (const node of this.models) node.title = this.start.models.find((model) => model.name === node.value)?.sentence ?? "";
    say(this.about, [set?.note, fill].filter(Boolean).map((text) => text.replace(/([^.!?])$/, "$1.")).join(" "));
    this.about.title = this.about.textContent;
  }

  /** Finders of objects, which are told of later than the rest. */
  finders(detectors) {
    this.start.detectors = detectors;
    this.listMissing();
  }

  listMissing() {
    const { models, fills, detectors = [] } = this.start;
    const waiting = [...models, ...fills, ...detectors].filter((entry) => entry.missing);
    const raw = models.filter((entry) => entry.ready && entry.trained === false);
    this.missing.hidden = waiting.length + raw.length === 0;
    const line = (entry, text) => el("li", {}, el("b", { text: entry.title }), text);
    this.missing.replaceChildren(
      ...waiting.map((entry) => line(entry, ` is missing: ${entry.missing}`)),
      ...raw.map((entry) => line(entry, " starts from nothing: train it below, on originals alone, and use it then.")),
    );
  }

  // ----------------------------------------------------------------- folds

  opening() {
    this.source = el("input", { class: "rs-input", type: "text", placeholder: "owner/name, or a folder", autocomplete: "off", spellcheck: "false" });
    this.captions = el("input", { class: "rs-input", type: "text", placeholder: "captions.json (optional)", autocomplete: "off", spellcheck: "false" });
    this.trouble = new Problem();
    this.found = el("p", { class: "rs-note", role: "status" });
    this.waiting = new Waiting();
    this.openButton = button("Open", () => {});
    this.openButton.type = "submit";
    const form = el("form", { class: "rs-inputrow" }, field("Hugging Face id or folder", this.source), field("Captions from", this.captions), this.openButton);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.openSet();
    });
    return [form, biasForm((source) => this.openSet(source, "")), this.trouble.node, this.waiting.node, this.found];
  }

  async openSet(source = this.source.value.trim(), captions = this.captions.value.trim()) {
    if (!source) return this.trouble.say("Write the id of a data set on Hugging Face or the path of a folder.");
    this.trouble.say(null);
    this.openButton.disabled = true;
    say(this.found, "");
    try {
      const { set } = await this.waiting.open(source, captions);
      this.start.sets = [...this.start.sets.filter((one) => one.name !== set.name), set];
      choose(this.sets, this.start.sets, set.name);
      say(this.found, [`${set.title}: ${set.photos.toLocaleString("en-GB")} photos.`, ...(set.notes ?? [])].join(" "));
      this.explain();
      this.on.set(set);
    } catch (error) {
      say(this.found, "");
      this.trouble.say(error.message);
    } finally {
      this.openButton.disabled = false;
    }
    return undefined;
  }

  /** Any CLIP that open_clip can load, by name. */
  adding() {
    const name = el("input", { class: "rs-input", type: "text", placeholder: "hf-hub:owner/name, or local-dir:folder", autocomplete: "off", spellcheck: "false" });
    const add = button("Add", () => {});
    add.type = "submit";
    const form = el("form", { class: "rs-inputrow" }, field("A model that open_clip loads", name), add);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = name.value.trim();
      if (text) this.use(text.startsWith("open_clip:") ? text : `open_clip:${text}`, text);
    });
    return form;
  }

  /** Compare with a model by name, listed or not. */
  use(name, title = name) {
    const { models } = this.start;
    if (!models.some((model) => model.name === name)) models.push({ name, title, ready: true, trainable: true, missing: null });
    this.offer([this.models[0].value, name]);
    this.chose();
  }
}
