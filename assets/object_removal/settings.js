// The settings at the top: dataset, models and fill.

import { el, grouped, say, swatch } from "../common/dom.js";
import { choose, field, fold, Problem, rowForm, select, text } from "../common/fields.js";
import { HubSearch } from "../common/hub_search.js";
import { Task } from "../common/task.js";
import * as api from "./api.js";

const STOPPED = "The dataset was left before it was read; nothing was opened.";

/** `on`: {dataset(dataset), models([name, ...]), fill(name)}. */
export class Settings {
  constructor(on) {
    this.on = on;
    this.datasets = select((name) => on.dataset(this.start.datasets.find((dataset) => dataset.name === name)));
    this.models = [0, 1].map(() => select((name) => this.chose(name)));
    this.fills = select((name) => { this.wanted = name; on.fill(name); this.explain(); });
    this.about = el("p", { class: "rs-note" });
    const models = this.models.map((node, arm) => field(arm ? "Compared with" : "Model", node, { class: "rs-field rs-armfield" }));
    models.forEach((node, arm) => node.append(swatch(arm)));
    const row = el("div", { class: "rs-choices" }, field("Images", this.datasets), ...models, field("Fill", this.fills));
    this.missing = el("ul", { class: "rs-stack rs-tight rs-note rs-missing" });
    this.more = fold("Open another dataset, add a model", el("div", { class: "rs-stack rs-tight rs-folds" }, ...this.opening(), this.adding()));
    this.lacking = el("div", { class: "rs-lacking" }, fold("How to install the greyed-out choices", this.missing));
    this.node = el("section", { class: "rs-stack rs-tight rs-settings", "aria-label": "Images, models and fill" }, row, el("div", { class: "rs-flow rs-underchoices" }, this.about, this.lacking, this.more));
  }

  load(start) {
    this.start = start;
    this.wanted = start.fill;
    choose(this.datasets, start.datasets, start.dataset);
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

  /** Titles of the chosen models. */
  get titles() {
    return this.chosen.map((name) => this.title(name));
  }

  title(name) {
    return this.start.models.find((model) => model.name === name)?.title ?? name;
  }

  /** A model is chosen; that of a run brings the images of its run along. */
  chose(name) {
    this.explain();
    const wanted = this.start.models.find((model) => model.name === name)?.dataset;
    if (!wanted || wanted === this.datasets.value) return this.on.models(this.chosen);
    const open = this.start.datasets.find((dataset) => dataset.name === wanted);
    if (!open) {
      this.more.open = true; // there it says how far it is
      return this.openDataset(name, "");
    }
    this.datasets.value = wanted;
    this.explain();
    return this.on.dataset(open);
  }

  /** Whether the shown image can be drawn again without an object. */
  rerender(possible) {
    const offered = this.start.fills.filter((fill) => possible || !fill.redraws);
    choose(this.fills, offered.map((fill) => ({ ...fill, disabled: Boolean(fill.missing) })), null);
    const known = offered.some((fill) => fill.name === this.wanted && !fill.missing);
    this.fills.value = known ? this.wanted : this.start.fill;
  }

  explain() {
    const dataset = this.start.datasets.find((dataset) => dataset.name === this.datasets.value);
    const fill = this.start.fills.find((fill) => fill.name === this.fill)?.sentence;
    this.fills.title = fill ?? "";
    for (const node of this.models) node.title = this.start.models.find((model) => model.name === node.value)?.sentence ?? "";
    say(this.about, [dataset?.note, fill].filter(Boolean).map((part) => part.replace(/([^.!?])$/, "$1.")).join(" "));
  }

  /** Detectors, which arrive later than the rest. */
  detectors(detectors) {
    this.start.detectors = detectors;
    this.listMissing();
  }

  listMissing() {
    const { models, fills, detectors = [] } = this.start;
    const waiting = [...models, ...fills, ...detectors].filter((entry) => entry.missing);
    const raw = models.filter((entry) => entry.ready && entry.trained === false);
    this.missing.hidden = waiting.length + raw.length === 0;
    const line = (entry, why) => el("li", {}, el("b", { text: entry.title }), why);
    this.missing.replaceChildren(
      ...waiting.map((entry) => line(entry, ` is missing: ${entry.missing}`)),
      ...raw.map((entry) => line(entry, " is not trained yet: train it below, on originals alone, and use it then.")),
    );
  }

  // ----------------------------------------------------------------- folds

  opening() {
    this.source = text("owner/name, or a folder");
    this.captions = text("captions.json (optional)");
    this.sourceProblem = new Problem();
    this.opened = el("p", { class: "rs-note", role: "status" });
    this.task = new Task(api.OPENINGS, STOPPED);
    const form = rowForm([searched("Hugging Face id or folder", this.source, "datasets"), field("Captions from", this.captions)], "Open", () => this.openDataset());
    this.openButton = form.querySelector("button");
    return [form, this.sourceProblem.node, this.task.node, this.opened];
  }

  async openDataset(source = this.source.value.trim(), captions = this.captions.value.trim()) {
    if (!source) return this.sourceProblem.say("Write the id of a dataset on Hugging Face or the path of a folder.");
    this.sourceProblem.say(null);
    this.openButton.disabled = true;
    say(this.opened, "");
    try {
      const dataset = await this.task.answer(await api.open(source, captions));
      this.start.datasets = [...this.start.datasets.filter((known) => known.name !== dataset.name), dataset];
      choose(this.datasets, this.start.datasets, dataset.name);
      say(this.opened, [`${dataset.title}: ${grouped(dataset.images)} images.`, ...(dataset.notes ?? [])].join(" "));
      this.explain();
      this.on.dataset(dataset);
    } catch (error) {
      say(this.opened, "");
      this.sourceProblem.say(error.message);
    } finally {
      this.openButton.disabled = false;
    }
    return undefined;
  }

  /** Any CLIP that open_clip can load, by name. */
  adding() {
    const name = text("hf-hub:owner/name, or local-dir:folder");
    return rowForm([searched("A model that open_clip loads", name, "image_text", "hf-hub:")], "Add", () => {
      const typed = name.value.trim();
      if (typed) this.use(typed.startsWith("open_clip:") ? typed : `open_clip:${typed}`, typed);
    });
  }

  /** Compare with a model by name, listed or not. */
  use(name, title = name) {
    const { models } = this.start;
    if (!models.some((model) => model.name === name)) models.push({ name, title, ready: true, trainable: true, missing: null });
    this.offer([this.models[0].value, name]);
    this.chose(name);
  }
}

/** A line with its title that searches the Hub; `before` stands before the name that is taken. */
function searched(title, input, kind, before = "") {
  const search = new HubSearch(input, kind, (name) => { input.value = before + name; });
  input.setAttribute("aria-label", title);
  return el("div", { class: "rs-field" }, el("span", { class: "rs-note rs-fieldname", text: title }), search.node);
}
