// The section What did it look at?: the same queries whole, without their object, and with nothing but their object.

import { el, say } from "../common/dom.js";
import { button, choose, field, number, Problem, select, text } from "../common/fields.js";
import { brief, capital } from "../common/names.js";
import { percent } from "../common/measures.js";
import * as api from "./api.js";
import { BackgroundNumbers } from "./background_numbers.js";
import { FormRows, staying } from "./form_rows.js";
import { HeatMaps } from "./heat_maps.js";
import { MAPS, OneImage } from "./one_image.js";
import { placesOf } from "./places.js";
import { Task } from "../common/task.js";

const OWN = ""; // the run's own test set
const OTHER = "…"; // a dataset that is written
const SUITS = "";
const QUERIES = 200;
const USUAL = "telea";
const STOPPED = "It was stopped. Losses that were done are not measured twice: measure again, or choose fewer queries.";
const CANCELLED = "It was stopped. Compare again.";
const NO_WEIGHTS = "This run keeps no weights, so its encoder cannot be measured, nor search without the object. Choose a run that was trained here.";

class LookedAt {
  constructor(tab) {
    this.tab = tab;
    this.problem = new Problem();
    this.task = new Task(api.MEASURED, STOPPED);
    this.searching = new Task(api.JOBS, CANCELLED);
    this.run = select(() => this.chosen());
    this.data = select(() => this.sourceChanged());
    this.source = text("A folder or a Hub id with boxes", { onkeydown: (event) => event.key === "Enter" && this.measure() });
    this.other = field("Dataset", this.source, { class: "rs-field", hidden: true });
    this.fill = select(() => {});
    this.queries = number(QUERIES, 10, 5000, 10);
    this.begin = button("Measure", () => this.measure(), "rs-primary");
    this.note = el("p", { class: "rs-note", text: "The test images search the untouched test set as they are, without their object, with nothing but their object, and under controls." });
    this.unknown = el("p", { class: "rs-note", hidden: true });
    this.which = field("Run to measure", this.run);
    const form = el("div", { class: "rs-flow rs-form" }, this.which, field("Images with known objects", this.data), this.other, field("In the object's place", this.fill), field("Queries at most", this.queries, { class: "rs-field rs-short" }), this.begin);
    const head = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "What is measured" }, form, this.unknown, this.note, this.task.node, this.searching.node, this.problem.node);
    this.numbers = new BackgroundNumbers();
    this.rows = new FormRows();
    this.maps = new HeatMaps();
    this.image = new OneImage({ compare: (query, title) => this.compare(query, title), look: (query, title) => this.look(query, title), fail: (sentence) => this.problem.say(sentence) });
    this.node = el("div", { class: "rs-section" }, head, this.numbers.node, this.image.node, this.maps.node, this.rows.node);
  }

  load() {
    const { given, usable, home } = this.tab;
    if (!this.fill.options.length) this.offer(given);
    const before = usable.some((run) => run.id === this.run.value) ? this.run.value : home.id;
    const of = new Map(placesOf(usable).map((place) => [place.run, place.of]));
    choose(this.run, usable.map((run) => ({ name: run.id, title: [brief(run.title, 60), of.get(run.id)].filter(Boolean).join(", ") })), before);
    this.which.hidden = usable.length < 2; // the runs are chosen above
    this.chosen();
  }

  refresh() {
    if (this.run.value) this.image.load(this.run.value);
  }

  offer({ background, anywhere }) {
    choose(this.data, [{ name: OWN, title: "The run's own test set" }, ...background.datasets, ...(anywhere ? [{ name: OTHER, title: "Another dataset …" }] : [])], OWN);
    choose(this.fill, [{ name: SUITS, title: "As suits the images" }, ...background.fills], SUITS);
    this.queries.max = background.queries;
    this.queries.value = Math.min(QUERIES, background.queries);
    this.redrawing = new Set(background.fills.filter((fill) => fill.redraws).map((fill) => fill.name));
  }

  chosen() {
    const run = this.tab.usable.find((usable) => usable.id === this.run.value);
    this.begin.disabled = !run?.weights;
    this.problem.say(run && !run.weights ? NO_WEIGHTS : null);
    this.offerOwn(run?.objects_unknown ?? null);
    if (this.shown && this.shown !== this.run.value) this.empty();
    if (run && !this.node.hidden) this.image.load(run.id);
  }

  /** The run's own test set can be measured, unless there is a reason why its objects are not known. */
  offerOwn(reason) {
    const [own, other] = this.data.options;
    own.disabled = Boolean(reason);
    say(own, reason ? "The run's own test set (objects not known)" : "The run's own test set");
    if (reason && this.data.value === OWN) this.data.value = other.value;
    this.unknown.hidden = !reason;
    say(this.unknown, reason ?? "");
  }

  sourceChanged() {
    this.other.hidden = this.data.value !== OTHER;
    if (!this.other.hidden) this.source.focus();
  }

  empty() {
    this.shown = null;
    for (const part of [this.numbers, this.maps, this.rows]) part.empty();
  }

  async measure() {
    const turn = (this.turn = {});
    const run = this.run.value;
    const data = this.data.value === OTHER ? this.source.value.trim() : this.data.value;
    if (this.data.value === OTHER && !data) return this.problem.say("Write which dataset: a folder, or a Hub id.");
    this.problem.say(null);
    this.task.stop();
    this.begin.disabled = true;
    try {
      const answer = await this.task.answer(await api.measure({ run, data, fill: this.fill.value, queries: Number(this.queries.value) }));
      if (turn !== this.turn) return;
      this.shown = run;
      this.rows.empty();
      this.numbers.show(answer);
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    } finally {
      if (turn === this.turn) this.begin.disabled = false;
    }
  }

  /** What the similarity of an image hangs on: {row or upload}. */
  async look(query, title) {
    const turn = (this.turn = {});
    const run = this.run.value;
    this.problem.say(null);
    this.searching.stop();
    try {
      const answer = await this.searching.answer(await api.look({ runs: [run], gallery: MAPS, query }));
      if (turn !== this.turn) return;
      this.shown = run;
      this.maps.show(answer, title);
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    }
  }

  /** An image without what is removed from it, and that alone: {row or upload, remove}. */
  async compare(query, title) {
    const turn = (this.turn = {});
    const run = this.run.value;
    const fill = this.fill.value === SUITS || this.redrawing.has(this.fill.value) ? USUAL : this.fill.value;
    this.problem.say(null);
    this.searching.stop();
    try {
      const answer = await this.searching.answer(await api.search({ runs: [run], gallery: MAPS, query: { ...query, fill } }));
      if (turn !== this.turn) return;
      this.shown = run;
      const gone = answer.removed.length ? ` ${capital(answer.removed.map((name) => brief(name)).join(", "))} ${answer.removed.length > 1 ? "go" : "goes"}.` : "";
      const picture = new Map(answer.forms.map(({ name, image }) => [name, image]));
      this.rows.show({ title, about: `${percent(answer.covered)} of it is removed.${gone} Gallery: ${brief(answer.title, 120)}.`, titles: Object.fromEntries(answer.forms.map((form) => [form.name, form.title])), picture: (form) => picture.get(form), images: { imageUrl: (row) => api.imageUrl(run, MAPS, row) }, words: answer.words, arms: answer.arms.map(inForms) });
      this.reveal();
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    }
  }

  reveal() {
    this.rows.node.scrollIntoView({ block: "nearest" });
    this.rows.node.focus({ preventScroll: true });
  }
}

/** The results of an arm by form; of one that cannot embed the image without its object those of the whole image. */
function inForms({ title, error, ranking, after }) {
  if (error) return { title, error };
  const forms = Object.entries(after.rankings).map(([form, { results }]) => [form, results]);
  return { title, note: after.error ?? staying(after.stays), forms: { whole: ranking.results, ...Object.fromEntries(forms) } };
}

export const LOOKED_AT = { name: "background", title: "What did it look at?", make: (tab) => new LookedAt(tab) };
