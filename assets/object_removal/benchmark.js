// The benchmark over a whole dataset: started, followed, stopped; the results of the models beside each other.

import { armKey, el, grouped, say, swatch } from "../common/dom.js";
import * as api from "./api.js";
import { bars } from "../common/bars.js";
import { button, field, fold, number, Problem, segments } from "../common/fields.js";
import { Task } from "../common/task.js";
import { captionNodes } from "./caption_words.js";

const STOPPED = "Stopped; nothing is shown of what was measured.";

/** `on`: {settings, open(ref, removed)}. */
export class Benchmark {
  constructor(on) {
    this.on = on;
    this.queries = number(200, 10, 2000, 10);
    this.every = segments("Removals", [["one", "one per image"], ["every", "all removals"]], "one", () => {});
    this.go = button("Measure", () => this.start(), "rs-primary");
    this.task = new Task(api.BENCHMARKS, STOPPED);
    this.said = el("p", { class: "rs-note", role: "status" });
    this.problem = new Problem();
    this.skipped = el("p", { class: "rs-note rs-sideabout" });
    this.result = el("div", { class: "rs-stack rs-result", hidden: true });
    const about = el("p", { class: "rs-note", text: "Takes an object out of many images and asks each model for its nearest captions. What counts is the share of captions that name something still there and nothing that was removed." });
    const head = el("header", { class: "rs-flow rs-sectionhead" }, el("h2", { text: "Over a whole dataset" }), this.skipped);
    const form = el("div", { class: "rs-flow rs-form" }, field("Removals at most", this.queries, { class: "rs-field rs-short" }), this.every, this.go);
    this.readings = el("ul", { class: "rs-note rs-readings" });
    const ours = fold("How it is counted, and what the paper leaves open", this.readings);
    this.node = el("section", { class: "rs-panel rs-stack", "aria-label": "Over a whole dataset" }, head, about, form, this.task.node, this.said, this.problem.node, this.result, ours);
  }

  load(start) {
    this.readings.replaceChildren(...start.interpretation.map((text) => el("li", { text })));
  }

  async start() {
    const { settings } = this.on;
    this.problem.say(null);
    this.go.disabled = true;
    say(this.said, "");
    try {
      const asked = { dataset: settings.datasets.value, models: settings.chosen, fill: settings.fill, queries: Number(this.queries.value), every: this.every.value === "every", seed: 0 };
      const reply = await api.benchmark(asked);
      this.show(await this.task.answer(reply), api.csvUrl(reply.job));
    } catch (error) {
      this.problem.say(error.message);
    } finally {
      this.go.disabled = false;
    }
  }

  // ---------------------------------------------------------------- result

  /** `table`: the address of every query as a CSV file. */
  show(result, table) {
    const { models } = result;
    say(this.said, [`${result.scope}.`, ...result.notes, ...new Set(models.flatMap((model) => model.notes ?? []))].join(" "));
    say(this.skipped, [...result.skipped, ...(models[0]?.skipped ?? [])].map(({ reason, count }) => `${grouped(count)} skipped: ${reason}`).join(" · "));
    const figures = result.measures.headline.filter(({ key: name }) => models.some((model) => name in model || model.values[name]));
    const numbers = el("dl", { class: "rs-flow rs-benchmarkfigures" }, ...figures.map((number) => this.figure(models, number)));
    const csv = el("a", { class: "rs-act", href: table, download: "", text: "Every query (CSV)" });
    this.result.replaceChildren(armKey(models.map((model) => model.title)), numbers, bars(models, result.measures, `On ${result.scope}. ${result.measures.intervals}`), ...models.map((model, arm) => this.failing(model, arm)), csv);
    this.result.hidden = false;
  }

  /** "59.8 → 70.1" over its name. */
  figure(models, { key, title, sentence: about, unit }) {
    const [first, ...rest] = models.map((model) => (unit === "share" ? percent(model.values[key]?.mean) : grouped(model[key])));
    const after = rest.map((text) => el("span", { text: ` → ${text}` }));
    return el("div", {}, el("dt", { text: title, title: about }), el("dd", {}, el("b", { text: first }), ...after));
  }

  failing(model, arm) {
    if (!model.failing.length) return el("p", { class: "rs-note" }, swatch(arm), ` ${model.title}: no first caption names what was removed.`);
    const failure = (caption) => {
      const image = el("img", { src: api.imageUrl(caption.image, 160), alt: "", loading: "lazy" });
      const words = el("span", { class: "rs-clamp rs-failurecaption" }, ...captionNodes(caption));
      return el("li", {}, el("button", { type: "button", class: "rs-failure", onclick: () => this.on.open(caption.image, caption.removed) }, image, el("span", { class: "rs-unseen", text: `Without ${caption.removed.join(", ")}: ` }), words));
    };
    const title = el("h3", { class: "rs-flow" }, swatch(arm), el("span", { text: model.title }), el("span", { class: "rs-note rs-sideabout", text: "first caption names what was removed; press an image to open it above" }));
    const list = el("ul", { class: "rs-strip rs-failures", tabindex: "0", "aria-label": `Images that ${model.title} gets wrong` }, ...model.failing.map(failure));
    return el("div", {}, title, list);
  }
}

const percent = (share) => (Number.isFinite(share) ? (share * 100).toFixed(1) : "–");
