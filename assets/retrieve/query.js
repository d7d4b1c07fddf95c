// The section Query: one image, searched for in every arm.

import { ServerError } from "../common/api.js";
import { pin, pinned } from "../common/baseline.js";
import { el, say } from "../common/dom.js";
import { Problem } from "../common/fields.js";
import { Newest } from "../common/newest.js";
import { Scrubber } from "../common/scrubber.js";
import { AboutQuery } from "./about_query.js";
import * as api from "./api.js";
import { Facts } from "./facts.js";
import { OwnImage } from "./own_image.js";
import { Picker } from "./picker.js";
import { placesOf } from "./places.js";
import { QueryCurves } from "./query_curves.js";
import { ResultRows } from "./result_rows.js";
import { SearchSettings } from "./search_settings.js";
import { Task } from "../common/task.js";
import { UntrainedRows } from "../common/untrained_rows.js";

const MAPS = "probe"; // the gallery whose embeddings are kept with every frame
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

class Query {
  constructor(tab) {
    Object.assign(this, { tab, gallery: { name: MAPS }, query: null, step: null, answer: null, steps: [] });
    this.problem = new Problem();
    this.task = new Task(api.JOBS, api.STOPPED);
    this.settings = new SearchSettings({ changed: () => this.ask(), open: (gallery) => this.openGallery(gallery) });
    this.about = new AboutQuery();
    this.rows = new ResultRows({ choose: (row) => this.choose(row), point: (result, images) => this.about.point(result, images), pin });
    this.scrubber = new Scrubber({ seek: (place) => this.seek(place), playing: () => {} });
    this.curves = new QueryCurves();
    this.facts = new Facts();
    this.untrained = new UntrainedRows((row) => this.choose(row));
    this.notes = el("p", { class: "rs-note", hidden: true });
    this.files = el("p", { class: "rs-flow rs-note", hidden: true });
    this.aloud = el("p", { class: "rs-unseen", "aria-live": "polite" });
    this.layout();
    this.asking = new Newest((asked) => this.search(asked), (answer, asked) => this.show(answer, asked), (error) => this.fail(error));
  }

  layout() {
    const asked = el("section", { class: "rs-panel rs-stack rs-tight rs-asking", "aria-label": "The image to search with" });
    this.own = new OwnImage({ taken: (file) => this.upload(file), fail: (sentence) => this.problem.say(sentence) }, asked);
    this.picker = new Picker({ choose: (row) => this.choose(row), fail: (sentence) => this.problem.say(sentence) }, this.own.node);
    asked.append(this.picker.node, this.own.webcam.node, this.problem.node);
    const body = el("div", { class: "rs-found" }, this.about.node, el("div", { class: "rs-stack" }, this.rows.node, this.untrained.node, this.notes));
    const results = el("section", { class: "rs-panel rs-stack", "aria-label": "Results" }, this.settings.node, this.task.node, this.scrubber.node, body, this.facts.node, this.files);
    this.node = el("div", { class: "rs-section" }, asked, results, this.curves.node, this.aloud);
  }

  /** Other runs are shown; `fresh`: also another one whose gallery is searched. */
  load(fresh) {
    if (!this.offered) this.settings.offer(this.tab.given);
    this.offered = true;
    this.places = placesOf(this.tab.usable);
    this.rows.arrange(this.places);
    this.timeline();
    if (!fresh) return this.ask();
    this.query = null;
    this.answer = null;
    const { row = Math.floor(this.tab.home.points / 3), gallery = { name: MAPS } } = this.taken() ?? {};
    return this.openGallery(gallery, { row });
  }

  /** What was chosen in Live or in another section since the last look: {row, gallery, step}; null if nothing was. */
  taken() {
    const { handed, home } = this.tab;
    this.tab.handed = null;
    if (handed?.run !== home?.id) return null;
    return handed.gallery || handed.row < home.points ? handed : null;
  }

  /** Offer the images of a selection alone, and search with the first: {run, points}. */
  select({ run, points }) {
    this.selection = points;
    this.tab.handed = { run, row: points[0] };
    if (this.images) this.refresh();
    else this.openGallery({ name: MAPS }, this.taken()); // nothing is open yet
  }

  /** Offer the images of the maps that were selected, once these are the gallery. */
  narrow() {
    if (!this.selection || this.gallery.name !== MAPS) return;
    this.picker.only(this.selection, this.tab.about);
    this.selection = null;
  }

  refresh() {
    if (!this.tab.home || !this.offered) return;
    const handed = this.taken();
    if (!handed) return;
    const { row, gallery = { name: MAPS }, step = this.step } = handed;
    this.step = step;
    if (!same(gallery, this.gallery)) return this.openGallery(gallery, { row });
    this.narrow();
    return this.choose(row);
  }

  // ------------------------------------------------------------- what is asked

  /** Search another gallery. The query stays if there is one; else it is `query`, or the gallery's first image. */
  async openGallery(gallery, query = null) {
    const turn = (this.opening = {});
    const { home } = this.tab;
    this.problem.say(null);
    this.task.stop();
    try {
      const about = await this.task.answer(await api.open(home.id, gallery));
      if (turn !== this.opening) return;
      this.gallery = gallery;
      this.images = this.imagesOf(home, gallery);
      this.settings.opened(gallery, about);
      this.query = query ? { ...query, gallery } : (this.query ?? { row: 0, gallery });
      this.timeline();
      this.picker.load(home.id, gallery, this.images, this.ownRow);
      this.narrow();
      this.ask();
    } catch (error) {
      if (turn !== this.opening) return;
      this.settings.gallery.value = this.gallery.name;
      this.problem.say(error.message);
    }
  }

  /** What paints the images of a gallery: the sheets of the run, or an address for each. */
  imagesOf(home, gallery) {
    if (gallery.name === MAPS) return Object.create(this.tab.about);
    return { id: home.id, imageUrl: (row) => api.imageUrl(home.id, gallery, row) };
  }

  /** Row of the query in the gallery that is open, or null. */
  get ownRow() {
    return this.query?.gallery && same(this.query.gallery, this.gallery) ? this.query.row : null;
  }

  choose(row) {
    this.query = { row, gallery: this.gallery };
    this.problem.say(null);
    this.picker.show(row);
    this.ask();
  }

  async upload(file) {
    const turn = (this.opening = {});
    this.problem.say(null);
    try {
      const upload = await api.upload(file);
      if (turn !== this.opening) return;
      this.query = { upload };
      this.picker.show(null);
      this.timeline();
      this.ask();
    } catch (error) {
      if (turn === this.opening) this.problem.say(error.message);
    }
  }

  /** Whether earlier steps can be searched: their embeddings are kept of the images on the maps alone. */
  get stored() {
    return this.gallery.name === MAPS && this.ownRow !== null;
  }

  timeline() {
    const steps = [...new Set(this.tab.usable.flatMap((run) => run.steps))].sort((a, b) => a - b);
    this.steps = steps.map((step, k) => [k, step]);
    this.scrubber.node.hidden = !this.stored || steps.length < 2;
    if (this.scrubber.node.hidden) {
      this.scrubber.stop();
      this.step = null;
    }
    const place = this.step === null ? steps.length - 1 : steps.filter((step) => step <= this.step).length - 1;
    this.scrubber.update(this.steps, Math.max(0, place));
  }

  seek(place) {
    this.scrubber.update(this.steps, place);
    this.step = place === this.steps.length - 1 ? null : this.steps[place][1];
    return new Promise((done) => {
      this.drawn = done; // a replay goes on when this step is shown
      this.ask();
    });
  }

  /** Another baseline is pinned. */
  updatePins() {
    if (this.answer) this.rows.show(this.answer, this.images, pinned());
  }

  ask() {
    if (!this.query || !this.images) return;
    this.timeline();
    this.rows.busy(true);
    this.task.stop(); // what is under way has become another question
    const { upload, row, gallery } = this.query;
    const query = upload ? { upload } : same(gallery, this.gallery) ? { row } : { row, gallery };
    const runs = this.tab.usable.map((run) => run.id);
    this.asking.request({ runs, gallery: this.gallery, query, step: this.step, ...this.settings.value });
  }

  async search(asked) {
    return this.task.answer(await api.search(asked));
  }

  // ------------------------------------------------------------ what is answered

  show(answer, asked) {
    if (!same(asked.gallery, this.gallery) || asked.runs[0] !== this.tab.home.id) return;
    this.answer = answer;
    if (!this.query.upload) this.problem.say(null);
    this.rows.busy(false);
    Object.assign(this.images, { names: answer.words.slice(1), words: answer.words }); // severities count the query's levels
    this.aboutQuery(answer);
    this.rows.show(answer, this.images, pinned());
    this.untrained.show(this.images, this.stored ? this.ownRow : null);
    this.curves.show(answer, this.places);
    this.facts.show(answer, this.places);
    this.notes.hidden = !answer.notes.length;
    say(this.notes, answer.notes.join(" "));
    this.downloads(answer);
    if (this.ownRow === null && answer.query !== null) this.picker.show(answer.query); // the same image, from another gallery
    say(this.aloud, describeAnswer(answer));
    this.drawn?.();
  }

  aboutQuery(answer) {
    const { upload, row, gallery } = this.query;
    if (upload) this.about.showUpload(api.uploadUrl(upload));
    else this.about.show(same(gallery, this.gallery) ? this.images : this.imagesOf(this.tab.home, gallery), row, answer.classes ?? [], { run: this.tab.home.id, gallery, row });
  }

  downloads(answer) {
    const link = (kind, text) => el("a", { href: api.tableUrl(answer.table, kind), download: "", text });
    this.files.hidden = false;
    this.files.replaceChildren(el("span", { text: "Results as a table:" }), link("csv", "CSV"), link("parquet", "Parquet"));
  }

  fail(error) {
    this.rows.busy(false);
    this.problem.say(error instanceof ServerError ? error.message : `The results cannot be shown: ${error.message}`);
    this.drawn?.();
  }
}

/** What a screen reader hears of an answer. */
function describeAnswer(answer) {
  const arms = answer.arms.map((arm) => {
    const list = arm.reranked ?? arm.ranking;
    return arm.error ?? `${arm.title}: ${answer.scores.flatMap(({ key, title }) => (list.scores[key] === undefined ? [] : [`${title} ${list.scores[key].toFixed(2)}`])).join(", ") || `${list.results.length} results`}`;
  });
  return `Searched ${answer.title}. ${arms.join(". ")}`;
}

export const QUERY = { name: "query", title: "Query", make: (tab) => new Query(tab) };
