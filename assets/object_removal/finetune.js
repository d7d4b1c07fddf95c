// Fine-tuning: recipes trained side by side from the same weights, and the run that follows.

import { el, say } from "../common/dom.js";
import { button, choose, field, fields, fold, number, Problem, select, text, valuesOf } from "../common/fields.js";
import { Follow } from "./follow.js";
import { Recipe, distinguish } from "./recipe.js";
import { toLive, toPlan } from "../common/navigation.js";

const MOST = 4;
const MINUTES = 5;
const WAIT = 20000;
const OWN = new Set(["learning_rate", "seed", "seeds"]); // no preset changes them
const WHAT = "Goes on training the model on images together with the same images without an object, whose captions do not name it. The recipes share weights, batches and budget; only what they are trained on differs.";

/** `on`: {act(action, payload), settings, use(name)}. */
export class Finetune {
  constructor(on) {
    this.on = on;
    this.recipes = [];
    this.model = select(() => this.setLearningRate());
    this.presets = select((name) => this.preset(name));
    this.presetAbout = el("p", { class: "rs-note" });
    this.cards = el("div", { class: "rs-columns" });
    this.more = button("Compare with another recipe", () => this.add({ removed: false }));
    const training = {
      steps: ["Steps", number("", 1, 10000000, 10)],
      minutes: ["Minutes at most", number("", 0.5, 1440, 0.5)],
      epochs: ["Epochs", number("", 0.1, 100000, "any")],
      batch: ["Batch", number(128, 8, 4096, 8)],
      optimiser: ["Optimiser", select(() => {})],
      learning_rate: ["Learning rate", number(0.0002, 0, 1, "any")],
      halve_every: ["Halved every … epochs", number("", 0.1, 100000, "any")],
      weight_decay: ["Weight decay", number(0.01, 0, 1, "any")],
      seed: ["Seed", number(0, 0, 2 ** 31 - 1)],
      seeds: ["Or over seeds", text("0, 1, 2")],
    };
    const { controls, labels } = fields(training, { class: "rs-field rs-short" });
    this.controls = controls;
    this.go = button("Fine-tune this model", () => this.start(), "rs-primary rs-fullrow");
    this.said = el("p", { class: "rs-note", role: "status" });
    this.recorded = button("Watch a recorded one", () => toLive(this.offer.recorded));
    this.problem = new Problem();
    this.follow = new Follow(on);
    const first = el("div", { class: "rs-flow rs-form" }, field("Model", this.model), field("Recipes", this.presets));
    const budget = el("div", { class: "rs-flow rs-form" }, ...labels.slice(0, 2), this.go, this.recorded);
    this.rest = fold("Epochs, batch, optimiser, learning rate, seed", el("div", { class: "rs-flow rs-form" }, ...labels.slice(2)));
    const head = el("header", { class: "rs-flow rs-sectionhead" }, el("h2", { text: "Fine-tune on object-removed images" }));
    const body = [head, el("p", { class: "rs-note", text: WHAT }), first, this.presetAbout, this.cards, this.more, budget, this.rest, this.said, this.problem.node, this.follow.node];
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Fine-tune on object-removed images" }, ...body);
    window.addEventListener("rankscope:started", (event) => this.replied(event.detail ?? {}));
  }

  load(start) {
    this.offer = start;
    const able = start.models.filter((model) => model.trainable);
    choose(this.model, able.map((model) => ({ ...model, disabled: !model.ready })), start.chosen.find((name) => able.some((model) => model.name === name)));
    choose(this.controls.optimiser, start.optimisers);
    choose(this.presets, start.presets, start.presets[0]?.name);
    this.preset(this.presets.value);
    this.setLearningRate();
    this.recorded.hidden = !start.recorded;
  }

  /** The learning rate that suits the chosen model: the rate of a small one damages a published one. */
  setLearningRate() {
    const rate = this.offer.models.find((model) => model.name === this.model.value)?.learning_rate;
    if (rate) this.controls.learning_rate.value = rate;
  }

  preset(name) {
    const preset = this.offer.presets.find((preset) => preset.name === name);
    say(this.presetAbout, preset?.sentence ?? "");
    this.train(preset?.training);
    this.recipes = [];
    this.cards.replaceChildren();
    for (const values of (preset?.values.recipes ?? [{}]).slice(0, MOST)) this.add(values);
  }

  /** How a preset trains; a budget that it leaves open is not limited. The learning rate is the model's. */
  train(training) {
    if (!training) return;
    for (const [name, control] of Object.entries(this.controls)) if (!OWN.has(name)) control.value = training[name] ?? "";
    if (training.epochs) this.rest.open = true; // else no budget is visible
    if (training.steps) this.controls.minutes.value = training.minutes ?? MINUTES;
  }

  add(values) {
    const recipe = new Recipe(this.offer, values, { changed: () => this.explain(), drop: (given) => this.drop(given) });
    this.recipes.push(recipe);
    this.cards.append(recipe.node);
    this.explain();
  }

  drop(recipe) {
    this.recipes = this.recipes.filter((kept) => kept !== recipe);
    recipe.node.remove();
    this.explain();
    this.more.focus();
  }

  explain() {
    this.recipes.forEach((recipe, arm) => recipe.place(arm, this.recipes.length));
    distinguish(this.recipes);
    this.more.disabled = this.recipes.length >= MOST;
    say(this.more, this.recipes.length >= MOST ? "Four recipes are the most" : "Compare with another recipe");
  }

  start() {
    this.problem.say(null);
    const { settings } = this.on;
    const { seeds, ...training } = valuesOf(this.controls);
    const asked = {
      model: this.model.value,
      dataset: settings.datasets.value,
      recipes: this.recipes.map((recipe) => recipe.values),
      ...training,
      seeds,
    };
    this.go.disabled = true;
    say(this.said, "Starting …");
    clearTimeout(this.silent);
    this.silent = setTimeout(() => this.replied({ error: "The server has not answered yet. The Runs tab shows whether the run is there." }), WAIT);
    this.on.act("finetune", asked);
  }

  /** The server's reply: a run, a comparison over seeds, or why there is none. */
  replied({ id, said, error, plan }) {
    clearTimeout(this.silent);
    this.go.disabled = false;
    say(this.said, error || id ? "" : (said ?? "")); // a run shows its own state
    this.problem.say(error ?? null);
    if (plan) toPlan(id);
    else if (id && id !== this.follow.id) this.follow.open(id);
  }
}
