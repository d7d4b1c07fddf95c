// What the runs say in words: a sentence per pair of variants, those with a difference first.

import { el, say } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { capital, inSentence } from "../common/names.js";
import { named } from "./reading.js";

const MOST = 12; // sentences without a difference that stand outside the fold

class Verdicts {
  constructor(tab) {
    this.tab = tab;
    this.title = el("h3", { text: "What the runs say" });
    this.head = el("div", { class: "rs-flow rs-menus" }, tab.metricField, tab.conditionField);
    this.whole = el("p", {});
    this.seen = el("ul", { class: "rs-stack rs-tight" });
    this.unseen = el("ul", { class: "rs-stack rs-tight" });
    this.rest = fold("", this.unseen);
    this.method = el("p", { class: "rs-note" });
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Verdicts" }, this.title, this.whole, this.head, this.seen, this.rest, this.method);
  }

  show(part) {
    const { metric, condition } = this.tab;
    const pairs = metric ? part.verdicts(metric.key, condition) : [];
    this.node.hidden = !part.metrics.length || (!pairs.length && part.conditions.length < 2);
    this.title.hidden = !pairs.length;
    this.head.hidden = part.metrics.length < 2 && part.conditions.length < 2;
    say(this.whole, overall(part, condition));
    this.whole.hidden = !this.whole.textContent;
    const found = pairs.filter((pair) => DIFFERENT.has(pair.verdict));
    const others = pairs.filter((pair) => !DIFFERENT.has(pair.verdict));
    const folded = others.length > MOST;
    this.seen.replaceChildren(...found.map(sentence), ...(folded ? [] : others.map(sentence)));
    this.unseen.replaceChildren(...(folded ? others.map(sentence) : []));
    this.rest.hidden = !folded;
    say(this.rest.querySelector("summary"), `${others.length} pairs without a difference, or without the results to see one`);
    say(this.method, part.table?.method ?? "");
  }
}

const DIFFERENT = new Set(["above", "below"]);
const MARKS = { above: "▲", below: "▲", "no difference seen": "=", unknown: "–" };

/** In which of several metrics any pair differs; empty for one metric or before there are verdicts. */
function overall(part, condition) {
  const judged = part.metrics.map((metric) => [metric, part.verdicts(metric.key, condition)]).filter(([, pairs]) => pairs.length);
  if (judged.length < 2) return "";
  const counts = judged.map(([metric, pairs]) => [metric.title, pairs.filter((pair) => DIFFERENT.has(pair.verdict)).length, pairs.length]);
  const seen = counts.filter(([, differing]) => differing);
  const under = part.conditions.length > 1 ? `Under ${inSentence(named(condition))}: ` : "";
  if (!seen.length) return `${under}no difference seen in any of ${judged.length} metrics.`.replace(/^n/, "N");
  const lines = seen.map(([title, differing, all]) => `${title} (${differing} of ${all} pairs)`);
  const others = judged.length - seen.length;
  const rest = others ? ` No difference seen in the ${others === 1 ? "other metric" : `other ${others} metrics`}.` : "";
  return `${under}difference seen in ${lines.join("; ")}.${rest}`.replace(/^d/, "D");
}

function sentence(pair) {
  const seen = DIFFERENT.has(pair.verdict);
  const words = `${capital(pair.words)}.`;
  return el("li", { class: "rs-judged", "data-seen": String(seen) }, el("span", { class: "rs-judgedmark", "aria-hidden": "true", text: MARKS[pair.verdict] }), el("span", { text: words }));
}

export const VERDICTS = { name: "verdicts", make: (tab) => new Verdicts(tab) };
