// Mistakes put into a perfect ranking: the same number at the same ranks, once for every severity, and what metrics say.

import { json } from "../../common/api.js";
import { el, figure, say } from "../../common/dom.js";
import { Problem, slider } from "../../common/fields.js";
import { severities, severityKey } from "../../common/severity_colours.js";

const SHOWN = 16; // results of a ranking that are drawn

class MistakesView {
  general = true;

  constructor(run) {
    this.run = run;
    this.problem = new Problem();
    this.body = el("div", { class: "rs-stack" });
    this.node = el("div", { class: "rs-stack rs-controlled" }, this.problem.node, this.body);
    this.eye = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.read(), { rootMargin: "400px" });
    this.eye.observe(this.node);
  }

  /** The run is no longer shown. */
  leave() {
    this.eye.disconnect();
    this.left = true;
  }

  async read() {
    this.eye.disconnect();
    try {
      this.given = await json(`run/${this.run.id}/controlled_errors`);
      this.problem.say(null);
      this.build();
    } catch (error) {
      this.problem.say(error.message);
      setTimeout(() => this.left || this.eye.observe(this.node), 4000);
    }
  }

  build() {
    const { most_mistakes: most, ranks, words } = this.given;
    const set = () => this.show();
    this.count = slider("Mistakes", { value: 3, low: 0, high: most, step: 1, words: String, changed: set });
    this.rank = slider("First at rank", { value: 1, low: 1, high: ranks, step: 1, words: String, changed: set });
    this.rankings = el("div", { class: "rs-strips" });
    this.aloud = el("p", { class: "rs-unseen", "aria-live": "polite" });
    this.body.replaceChildren(el("div", { class: "rs-flow rs-controlledform" }, this.count.node, this.rank.node), severityKey(words), this.rankings, this.aloud);
    this.show();
  }

  /** The cases at the chosen number and rank, worst mistakes first. */
  get shown() {
    return this.given.cases.filter(({ mistakes, rank }) => mistakes === this.count.value && rank === this.rank.value);
  }

  show() {
    const { words, metrics } = this.given;
    const looks = new Map(severities(words).map((one) => [one.shared, one]));
    this.rankings.replaceChildren(...this.shown.map((one) => row(one, looks, words[one.shared], metrics)));
    say(this.aloud, this.shown.map(({ shared, values }) => `${words[shared]}: ${values.map((value, at) => `${metrics[at].title} ${figure(value)}`).join(", ")}`).join("; "));
  }

  draw() {
    return true;
  }

  rows() {
    const { words, metrics, cases: all } = this.given ?? { words: [], metrics: [], cases: [] };
    return [["mistakes", "severity", "rank of the first", ...metrics.map(({ title }) => title)], ...all.map(({ shared, mistakes, rank, values }) => [mistakes, words[shared], rank, ...values])];
  }
}

function row({ ranking, values }, looks, word, metrics) {
  const tiles = ranking.slice(0, SHOWN).map((level) => el("span", { style: `background: ${looks.get(level).colour}`, text: looks.get(level).mark }));
  const scores = metrics.map(({ title, sentence }, at) => {
    const bar = el("span", { class: "rs-scorebar" }, el("span", { style: `width: ${100 * values[at]}%` }));
    return el("div", { class: "rs-score", title: sentence }, el("span", { class: "rs-note", text: `${title} ` }), el("b", { text: figure(values[at]) }), bar);
  });
  return el("div", { class: "rs-striprow" }, el("span", { class: "rs-note", text: `mistakes: ${word}` }), el("div", { class: "rs-rankmarks", "aria-hidden": "true" }, ...tiles), el("div", { class: "rs-scores" }, ...scores));
}

export const MISTAKES = { name: "mistakes", make: (run) => new MistakesView(run) };
