// What the runs say in words: what they come to in the chosen metric, and behind a fold a sentence per pair.

import { el, say } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { capital, inSentence } from "../common/names.js";
import { named } from "./reading.js";

class Verdicts {
  constructor(tab) {
    this.tab = tab;
    this.conclusion = el("p", { class: "rs-conclusion" });
    this.head = el("div", { class: "rs-flow rs-menus" }, tab.metricField, tab.conditionField);
    this.whole = el("p", { class: "rs-note" });
    this.pairs = el("ul", { class: "rs-stack rs-tight" });
    this.method = el("p", { class: "rs-note" });
    this.rest = fold("", el("div", { class: "rs-stack rs-tight" }, this.pairs, this.whole, this.method));
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Verdicts" }, this.conclusion, this.head, this.rest);
  }

  show(part) {
    const { metric, condition } = this.tab;
    const pairs = metric ? part.verdicts(metric.key, condition) : [];
    this.node.hidden = !part.metrics.length || (!pairs.length && part.conditions.length < 2);
    this.head.hidden = part.metrics.length < 2 && part.conditions.length < 2;
    const words = metric ? part.conclusion(metric.key, condition) : "";
    say(this.conclusion, words && part.conditions.length > 1 ? `${capital(named(condition))}: ${words}` : words);
    this.conclusion.hidden = !this.conclusion.textContent;
    say(this.whole, overall(part, condition));
    this.whole.hidden = !this.whole.textContent;
    const differing = pairs.filter((pair) => DIFFERENT.has(pair.verdict));
    this.pairs.replaceChildren(...[...differing, ...pairs.filter((pair) => !differing.includes(pair))].map(sentence));
    this.rest.hidden = !pairs.length;
    say(this.rest.querySelector("summary"), pairs.length === 1 ? "The pair in numbers" : `All ${pairs.length} pairs in numbers`);
    say(this.method, part.table?.method ?? "");
  }
}

const DIFFERENT = new Set(["above", "below"]);
const MARKS = { above: "▲", below: "▲", "could be chance": "?", unknown: "–" };

/** In which of several metrics any pair differs; empty for one metric or before there are verdicts. */
function overall(part, condition) {
  const judged = part.metrics.map((metric) => [metric, part.verdicts(metric.key, condition)]).filter(([, pairs]) => pairs.length);
  if (judged.length < 2) return "";
  const counts = judged.map(([metric, pairs]) => [metric.title, pairs.filter((pair) => DIFFERENT.has(pair.verdict)).length, pairs.length]);
  const seen = counts.filter(([, differing]) => differing);
  const under = part.conditions.length > 1 ? `Under ${inSentence(named(condition))}: ` : "";
  if (!seen.length) return capital(`${under}in all ${judged.length} metrics every difference could be chance.`);
  const lines = seen.map(([title, differing, all]) => `${title} (${differing} of ${all} pairs)`);
  const others = judged.length - seen.length;
  const rest = others ? ` In the ${others === 1 ? "other metric" : `other ${others} metrics`} every difference could be chance.` : "";
  return capital(`${under}more than chance explains in ${lines.join("; ")}.${rest}`);
}

function sentence(pair) {
  const seen = DIFFERENT.has(pair.verdict);
  const words = `${capital(pair.words)}.`;
  return el("li", { class: "rs-judged", "data-seen": String(seen) }, el("span", { class: "rs-judgedmark", "aria-hidden": "true", text: MARKS[pair.verdict] }), el("span", { text: words }));
}

export const VERDICTS = { name: "verdicts", make: (tab) => new Verdicts(tab) };
