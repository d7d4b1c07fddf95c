// The baseline in Live: the choice of it, what is compared, and its numbers beside those of the open run.

import * as api from "../common/api.js";
import { onPin, pin, pinned } from "../common/baseline.js";
import { el, grouped, origin, say } from "../common/dom.js";
import { choose, iconButton, select } from "../common/fields.js";
import { listed } from "../common/measures.js";
import { brief, inFull } from "../common/names.js";
import { Series } from "../common/series.js";

const NONE = "";

const named = (run) => `${brief(run.title, 80)} (${origin(run)})`;

export class Baseline {
  /** `changed()` is called when there are other numbers to compare with. */
  constructor(changed) {
    this.changed = changed;
    this.select = select((id) => pin(id || null));
    this.select.addEventListener("pointerdown", () => this.offer());
    this.select.addEventListener("focus", () => this.offer());
    this.control = el("label", { class: "rs-flow rs-note rs-pinned", hidden: true }, el("span", { text: "Baseline" }), this.select);
    this.what = el("p", {});
    this.how = el("p", { class: "rs-note" });
    const away = iconButton("close", "Remove the baseline", () => this.remove());
    this.summary = el("section", { class: "rs-against", "aria-label": "What is compared", hidden: true }, el("div", {}, this.what, this.how), away);
    onPin(() => this.read());
    this.empty();
  }

  /** No run is open. */
  empty() {
    Object.assign(this, { run: null, runs: [] });
    this.forget();
    this.control.hidden = true;
    this.summary.hidden = true;
  }

  forget() {
    Object.assign(this, { turn: {}, about: null, series: new Series(), why: null });
  }

  /** A run whose images are known, so that runs on the same can be offered. */
  load(run) {
    const known = run.id === this.run?.id && this.run.points;
    this.run = run;
    if (known || !run.points) return;
    this.offer();
    this.read();
  }

  /** The key of the run that is pinned, unless that is the open one. */
  get pinned() {
    const now = pinned();
    return now && this.run?.points && now.run !== this.run.id ? now.run : null;
  }

  /** List the runs on the same images. */
  async offer() {
    const { id } = this.run;
    const runs = await api.baselines(id).catch(() => this.runs);
    if (id !== this.run?.id) return;
    this.runs = runs;
    this.choices();
  }

  choices() {
    const now = this.pinned;
    const runs = !now || this.runs.some(({ id }) => id === now) ? this.runs : [...this.runs, { id: now, title: this.about?.title ?? `Run ${now}`, ...this.about }];
    const choices = [{ name: NONE, title: "none" }, ...runs.map((run) => ({ name: run.id, title: run.created ? named(run) : run.title }))];
    const same = choices.length === this.select.options.length && choices.every(({ name, title }, at) => this.select.options[at].value === name && this.select.options[at].text === title);
    if (same) this.select.value = now ?? NONE; // an open list stays as it is
    else choose(this.select, choices, now ?? NONE);
    this.control.hidden = choices.length < 2;
  }

  remove() {
    pin(null);
    this.select.focus();
  }

  /** Read the numbers of the run that is pinned, from the first one on. */
  async read() {
    const before = this.comparable || this.why;
    this.forget();
    const { turn } = this;
    await this.more();
    if (turn !== this.turn || !this.run) return;
    this.choices();
    if (before || this.comparable || this.why) this.changed();
  }

  /** A turn of the poll: a baseline that has ended is not read again. */
  async poll() {
    if (this.about?.moving || this.unread) await this.more();
  }

  async more() {
    const { run, turn, pinned: id } = this;
    this.unread = false;
    while (id && turn === this.turn) {
      try {
        const news = await api.baseline(run.id, id, this.about?.row ?? 0);
        if (turn !== this.turn) return;
        this.why = news.why;
        if (news.why) return;
        const { metrics, ...about } = news;
        this.about = about;
        this.series.add(metrics, {});
        if (!about.more) return;
      } catch (error) {
        if (turn !== this.turn) return;
        this.unread = true; // tried again with the next poll
        this.why = this.about ? null : error.message;
        return;
      }
    }
  }

  /** Whether there is something to compare with. */
  get comparable() {
    return this.about !== null;
  }

  /** The baseline's arm beside one of the run's: {arm, title, same}, `same` being whether it has its title. */
  armFor(arm) {
    const other = this.about.pairs[arm];
    return { arm: other, title: this.about.arms[other], same: this.about.arms[other] === this.run.arms[arm].title };
  }

  /**
   * Of a number of the run, measured as [step, value]: what the baseline's was then, {step, value}; the last one where the
   * baseline ended before, or where it is measured once (`once`). Null where there is none.
   */
  point(key, arm, measured, once = false) {
    if (!this.comparable || !measured) return null;
    const other = this.series.between(key, this.armFor(arm).arm, once ? Infinity : measured[0]);
    return other && { step: other[0], value: other[1] };
  }

  /** The value less the baseline's, or null. */
  less(key, arm, measured, once = false) {
    const other = this.point(key, arm, measured, once);
    return other && measured[1] - other.value;
  }

  /** Lines of the baseline for a curve up to a step: [line, arm], `arm` being the run's of the same title or null. */
  lines(key, last) {
    if (!this.comparable) return [];
    const titles = this.run.arms.map(({ title }) => title);
    return this.series.arms(key).flatMap((line, arm) => {
      const shown = line.filter(([step]) => step <= last);
      const end = this.series.between(key, arm, last);
      if (end && end[0] > shown.at(-1)[0]) shown.push(end);
      const same = titles.indexOf(this.about.arms[arm]);
      return shown.length ? [[shown, same < 0 ? null : same]] : [];
    });
  }

  /** The last step of the baseline where it ended before a step, else null. */
  ended(step) {
    const last = this.series.lastStep();
    return last < step ? last : null;
  }

  /** Say what is compared, at the step that is shown. */
  showSummary(step) {
    this.summary.hidden = !this.comparable && !this.why;
    if (this.summary.hidden) return;
    say(this.what, this.comparable ? `Baseline: ${named(this.about)}` : "The baseline cannot be compared.");
    this.what.title = this.comparable ? inFull(this.about.title) : "";
    say(this.how, this.comparable ? this.sentence(step) : this.why);
  }

  sentence(step) {
    const ended = this.ended(step);
    const at = ended === null ? `Differences: this run less the baseline, both at step ${grouped(step)}.` : `Differences: this run at step ${grouped(step)} less the baseline at step ${grouped(ended)}, its last.`;
    const others = this.run.arms.flatMap(({ title }, arm) => (this.armFor(arm).same ? [] : [`${brief(title)} less ${brief(this.armFor(arm).title)}`]));
    const pairs = others.length ? ` ${listed(others)}.` : "";
    return `${at}${pairs}${this.about.whole ? "" : " The maps of the two runs show different images, in part."}`;
  }
}
