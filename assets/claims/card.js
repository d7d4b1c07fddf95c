// A claim: what the paper says and where, what was run here, the numbers with a plot, the verdict in words, and its runs.

import * as api from "../common/api.js";
import { el, say } from "../common/dom.js";
import { button, fold, Problem } from "../common/fields.js";
import { toPlan } from "../common/navigation.js";
import { Interval } from "./interval.js";

const KIND = { seen: "rs-seen", "opposite seen": "rs-opposite" };

export class Card {
  /** `changed()`: its runs were queued. */
  constructor(claim, changed) {
    this.changed = changed;
    this.badge = el("span", { class: "rs-badge rs-claimverdict" });
    this.words = el("p", { class: "rs-claimwords" });
    this.stale = el("p", { class: "rs-note rs-stale", role: "note", hidden: true });
    this.numbers = el("div", { class: "rs-stack" });
    this.sides = fold("Both sides in numbers");
    this.state = el("p", { class: "rs-note", role: "status" });
    this.own = el("div", { class: "rs-stack", hidden: true });
    this.problem = new Problem();
    this.run = button("Run it here", () => this.start());
    this.open = button("Open its runs", () => toPlan(this.claim.here.id));
    this.compare = button("Numbers of the runs here", () => this.measure());
    this.acts = el("div", { class: "rs-flow" }, this.run, this.open, this.compare);
    this.node = el("article", { class: "rs-panel rs-stack rs-claim", "data-claim": claim.name }, ...this.head(claim), this.badge, this.words, this.stale, this.numbers, this.sides, this.about(claim), this.problem.node, el("div", { class: "rs-flow rs-claimfoot" }, this.acts, this.state), this.own);
  }

  head({ title, work_title: work, statement, where, printed }) {
    return [
      el("div", {}, el("p", { class: "rs-note", text: `${work} · ${where}` }), el("h3", { text: title })),
      el("p", { text: statement }),
      printed ? el("p", { class: "rs-note", text: `Printed there: ${printed}` }) : null,
    ].filter(Boolean);
  }

  /** What is run here, and the run at full size. */
  about({ protocol, ours, tried, recipe, runs, name }) {
    const list = (items) => el("ul", { class: "rs-claimlist" }, ...items.map((text) => el("li", { text })));
    const note = (text) => el("p", { class: "rs-note", text });
    const code = (text) => el("code", { class: "rs-claimrecipe", text });
    const here = runs ? [list(protocol), note("Not as in the paper:"), list(ours), ...(tried ? [note("Also looked at:"), list([tried])] : []), code(`python -m trainers claims ${name}`)] : [];
    return fold(runs ? "What is run here, and at full size" : "At full size", ...here, note("At full size, with the paper's data and a GPU:"), code(recipe));
  }

  show(claim) {
    this.claim = claim;
    const { verdict, words, stale, result, here, runs, minutes, measured } = claim;
    say(this.badge, verdict);
    this.badge.className = `rs-badge rs-claimverdict ${KIND[verdict] ?? ""}`;
    say(this.words, words.slice(words.indexOf(". ") + 2 || 0));
    this.stale.hidden = !stale;
    say(this.stale, stale);
    const text = JSON.stringify(result);
    if (text !== this.drawn) this.draw(result);
    this.drawn = text;
    this.acts.hidden = !runs;
    this.run.hidden = Boolean((here?.finished && !here.lacking) || here?.moving);
    say(this.run, here ? "Go on here" : "Run it here");
    this.open.hidden = !here;
    this.compare.hidden = !here?.finished;
    const count = minutes < 10 ? Number(minutes.toFixed(1)) : Math.round(minutes);
    const cost = `${measured ? "It took" : "It takes about"} ${count} minute${count === 1 ? "" : "s"} of one processor core${measured ? "" : ", at a guess"}.`;
    this.state.hidden = !runs;
    say(this.state, here ? `Here: ${here.part}${here.phase}: ${here.words}.` : cost);
  }

  draw(result) {
    const all = intervals(result);
    this.numbers.replaceChildren(...all.map(({ node }) => node));
    this.sides.hidden = !result;
    if (result) this.sides.replaceChildren(this.sides.firstChild, ...all.map(({ sides }) => sides), el("p", { class: "rs-note", text: origin(result) }));
  }

  async start() {
    this.run.disabled = true;
    try {
      const { said } = await api.post(`claims/${this.claim.name}`, {});
      this.problem.say(null);
      say(this.state, said);
      window.dispatchEvent(new CustomEvent("rankscope:changed"));
      this.changed();
    } catch (error) {
      this.problem.say(error.message);
    }
    this.run.disabled = false;
  }

  async measure() {
    try {
      const { words, result } = await api.json(`claims/${this.claim.name}`);
      this.own.hidden = false;
      this.own.replaceChildren(el("p", { text: `The runs here: ${words}` }), ...intervals(result).flatMap(({ node, sides }) => [node, sides]), el("p", { class: "rs-note", text: origin(result) }));
      this.problem.say(null);
    } catch (error) {
      this.problem.say(error.message);
    }
  }
}

const intervals = (result) => (result ? result.differences.map((difference) => new Interval(difference)) : []);

/** Seeds, time, machine, code and day of a result. */
function origin({ seeds, stands_on: known, minutes, machine, commit, made, budget }) {
  const code = commit ? `, commit ${commit}` : "";
  const counted = known.length < seeds.length ? `${known.length} of ${seeds.length} seeds (${known.join(", ") || "none"})` : `${seeds.length} seeds`;
  return `${counted}, ${minutes.toFixed(1)} minutes on ${machine}${code}, ${made}. ${budget}`;
}
