// The section Mistakes: how bad the results of each arm are, how it moved, by class, confusions, and where arms differ.

import { paired, pin, pinned } from "../common/baseline.js";
import { el, grouped, origin } from "../common/dom.js";
import { button, choose, field, number, Problem, select } from "../common/fields.js";
import { brief } from "../common/names.js";
import { whileSeen } from "../common/seen.js";
import { Scrubber } from "../common/scrubber.js";
import { BaselineNumbers } from "./baseline_numbers.js";
import * as api from "./api.js";
import { MistakesBars } from "./mistakes_bars.js";
import { MistakesByClass } from "./mistakes_classes.js";
import { Confusions } from "./mistakes_confusions.js";
import { DifferentQueries } from "./mistakes_queries.js";
import { MistakesTraining } from "./mistakes_training.js";
import { placesOf } from "./places.js";

const K = 10;
const NONE = "";
const MAPS = { name: "probe" };
const ALONE = "One run is shown; add another on the same images above to compare with it.";

class Mistakes {
  constructor(tab) {
    Object.assign(this, { tab, step: null, steps: [], stale: true, declined: false, answers: new Map(), diverged: new Map() });
    const open = (example) => this.open(example);
    const images = (run) => ({ id: run, imageUrl: (row) => api.imageUrl(run, MAPS, row) });
    this.k = number(K, 1, 100, 1, () => this.ask());
    this.baseline = select((id) => this.pin(id));
    this.problem = new Problem();
    this.scrubber = new Scrubber({ seek: (place) => this.seek(place), playing: () => {} });
    this.bars = new MistakesBars();
    this.training = new MistakesTraining({ seek: (step) => this.seek(this.steps.findIndex(([, one]) => one === step)) });
    this.classes = new MistakesByClass(open);
    this.confusions = new Confusions(open, images);
    this.scrubber.node.hidden = true;
    this.queries = new DifferentQueries(open, images);
    this.numbers = new BaselineNumbers();
    this.baselineNote = el("p", { class: "rs-note", text: ALONE });
    const form = el("div", { class: "rs-flow rs-form" }, field("Baseline", this.baseline), field("Results of each query", this.k, { class: "rs-field rs-short" }));
    this.selected = el("p", { class: "rs-flow rs-note", role: "status", hidden: true });
    this.head = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "What is compared" }, form, this.selected, this.baselineNote, this.scrubber.node, this.problem.node);
    this.body = el("div", { class: "rs-section" }, this.bars.node, this.numbers.node, this.training.node, this.queries.node, this.confusions.node, this.classes.node);
    this.node = el("div", { class: "rs-section" }, this.head, this.body);
    for (const part of [this.queries, this.confusions, this.classes]) whileSeen(part.node, part);
  }

  /** Other runs are shown, or one of them has gone on. */
  load(fresh) {
    this.places = placesOf(this.tab.usable);
    if (fresh) this.step = null;
    this.sayWhich();
    this.offer();
    this.stale = true;
    if (!this.node.hidden) this.ask();
  }

  /** Count the queries of a selection alone: {run, points}; null: all. */
  select(selection) {
    this.selection = selection;
    this.stale = true;
    this.sayWhich();
  }

  /** The points that are counted, as text such as `3-7,12`; empty: all. */
  get among() {
    return this.selection?.run === this.tab.home?.id ? ranges(this.selection?.points ?? []) : "";
  }

  sayWhich() {
    this.selected.hidden = !this.among;
    const all = button("All images", () => { this.select(null); this.ask(); });
    const count = this.selection?.points.length;
    this.selected.replaceChildren(...(this.among ? [el("span", { text: count === 1 ? "Only the selected image is a query." : `Only the ${grouped(count)} selected images are queries.` }), all] : []));
    this.training.node.hidden = Boolean(this.among);
  }

  refresh() {
    if (this.tab.home && this.stale) this.ask();
  }

  offer() {
    if (!this.queries.metric.options.length) this.queries.offer(this.tab.given.mistakes);
    const others = this.tab.usable.filter((run) => run !== this.tab.home);
    const chosen = others.find((run) => run.id === pinned()?.run) ?? (this.declined ? null : others[0]);
    choose(this.baseline, [{ name: NONE, title: "None" }, ...others.map((run) => ({ name: run.id, title: `${brief(run.title, 60)}, ${origin(run)}` }))], chosen?.id ?? NONE);
    this.baseline.disabled = !others.length;
    this.baselineNote.hidden = others.length > 0;
  }

  /** Pin the baseline that was chosen; without one nothing is compared until another is. */
  pin(id) {
    this.declined = id === NONE;
    const other = pinned() && pinned().run !== this.tab.home.id;
    if (this.declined && !other) this.updatePins();
    else pin(id || null);
  }

  /** Another baseline is pinned. */
  updatePins() {
    if (!this.places) return;
    this.offer();
    this.stale = true;
    if (!this.node.hidden) this.ask();
  }

  /** Every drawn map keeps the nearest images, so that any step of `series` can be shown. */
  timeline(series) {
    const steps = [...new Set(series.flatMap((training) => training.steps))].sort((a, b) => a - b);
    this.steps = steps.map((step, k) => [k, step]);
    this.scrubber.node.hidden = steps.length < 2;
    const place = this.step === null ? steps.length - 1 : steps.filter((step) => step <= this.step).length - 1;
    this.scrubber.update(this.steps, Math.max(0, place));
  }

  async seek(place) {
    if (place < 0) return;
    this.scrubber.update(this.steps, place);
    this.step = place === this.steps.length - 1 ? null : this.steps[place][1];
    this.training.cursor(this.step);
    await this.ask();
  }

  asked(run) {
    return { run: run.id, home: this.tab.home.id, k: Number(this.k.value), step: this.step, among: this.among };
  }

  async ask() {
    const turn = (this.turn = {});
    const { usable, home } = this.tab;
    this.stale = false;
    this.body.setAttribute("aria-busy", "true");
    const [severity, training] = await Promise.all(["severity", "training"].map((what) => Promise.allSettled(usable.map((run) => api.mistakes(what, this.asked(run))))));
    if (turn !== this.turn) return;
    this.body.setAttribute("aria-busy", "false");
    const failed = severity.flatMap((answer) => (answer.status === "rejected" ? [answer.reason.message] : []));
    this.problem.say(failed.length ? failed.join(" ") : null);
    const answered = severity.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    this.answers = new Map(answered.flatMap((answer) => answer.arms.map((arm) => [`${answer.run}.${arm.arm}`, { answer, arm }])));
    this.diverged = new Map(answered.flatMap((answer) => answer.diverged.map(({ arm, why }) => [`${answer.run}.${arm}`, why])));
    this.body.hidden = !this.answers.size;
    const series = training.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    this.timeline(series);
    if (!this.answers.size) return;
    this.bars.show(this.places, this.answers, this.diverged, (place) => this.pair(place), files("severity", "Shares as CSV", usable, (run) => this.asked(run)));
    this.training.show(this.places, new Map(series.map((shares) => [shares.run, shares])), this.step);
    this.training.files.replaceChildren(files("training", "Shares over training as CSV", usable, (run) => this.asked(run)));
    this.confusions.show(this.places, this.answers, this.diverged);
    this.confusions.files.replaceChildren(files("confusions", "Confusions as CSV", usable, (run) => this.asked(run)));
    const compared = { run: home.id, baseline: this.baseline.value, step: this.step, among: this.among };
    this.numbers.load({ run: home.id, baseline: this.baseline.value, step: this.step });
    const levels = answered.find(({ run }) => run === home.id)?.levels;
    this.classes.node.hidden = !levels;
    await Promise.all([levels && this.classes.load(this.asked(home), levels, usable.length > 1), this.queries.load(compared, this.places)]);
  }

  /** The baseline's arm that one of the open run is compared with. */
  pair(place) {
    const others = this.places.filter((place) => place.run === this.baseline.value);
    if (!others.length || place.run !== this.tab.home.id) return null;
    const ofRun = this.places.filter((other) => other.run === place.run);
    return others[paired(ofRun.map(({ title }) => title), others.map(({ title }) => title))[place.arm]];
  }

  /** Show what every arm finds for a query. */
  open({ point, row, part }) {
    this.tab.search(point === null ? { row, gallery: { name: part } } : { row: point, step: this.step });
  }
}

/** Whole numbers as text, those in a row as a range: `3-7,12`. */
function ranges(points) {
  const rows = [];
  for (const point of [...points].sort((a, b) => a - b)) {
    const last = rows.at(-1);
    if (last && point <= last[1] + 1) last[1] = point;
    else rows.push([point, point]);
  }
  return rows.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** Links to a table of every run. */
function files(table, words, runs, asked) {
  const links = runs.map((run, at) => el("a", { href: api.mistakesUrl(table, asked(run)), download: "", text: runs.length > 1 ? `${words}, run ${at + 1}` : words }));
  return el("span", { class: "rs-flow rs-note" }, ...links);
}

export const MISTAKES = { name: "mistakes", title: "Mistakes", make: (tab) => new Mistakes(tab) };
