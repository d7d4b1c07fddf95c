// What the runs say in words: a sentence per pair of variants, those with a difference first.

import { el, say } from "../common/dom.js";
import { fold } from "../common/fields.js";

const MOST = 12; // sentences without a difference that stand outside the fold

class Verdicts {
  constructor(tab) {
    this.tab = tab;
    this.title = el("h3", { text: "What the runs say" });
    this.head = el("div", { class: "rs-flow rs-menus" }, tab.metricField, tab.conditionField);
    this.seen = el("ul", { class: "rs-stack rs-tight rs-judgements" });
    this.unseen = el("ul", { class: "rs-stack rs-tight rs-judgements" });
    this.rest = fold("", this.unseen);
    this.method = el("p", { class: "rs-note" });
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Verdicts" }, this.title, this.head, this.seen, this.rest, this.method);
  }

  show(part) {
    const { metric, condition } = this.tab;
    const pairs = metric ? part.verdicts(metric.key, condition) : [];
    this.node.hidden = !pairs.length && part.conditions.length < 2;
    this.title.hidden = !pairs.length;
    this.head.hidden = part.metrics.length < 2 && part.conditions.length < 2;
    const found = pairs.filter((pair) => DIFFERENT.has(pair.verdict));
    const others = pairs.filter((pair) => !DIFFERENT.has(pair.verdict));
    const folded = others.length > MOST;
    this.seen.replaceChildren(...found.map(sentence), ...(folded ? [] : others.map(sentence)));
    this.unseen.replaceChildren(...(folded ? others.map(sentence) : []));
    this.rest.hidden = !folded;
    say(this.rest.querySelector("summary"), `${others.length} pairs without a difference`);
    say(this.method, part.table?.method ?? "");
  }
}

const DIFFERENT = new Set(["above", "below"]);

function sentence(pair) {
  const seen = DIFFERENT.has(pair.verdict);
  const words = `${pair.words[0].toUpperCase()}${pair.words.slice(1)}.`;
  return el("li", { class: "rs-judged", "data-seen": String(seen) }, el("span", { class: "rs-judgedmark", "aria-hidden": "true", text: seen ? "▲" : "=" }), el("span", { text: words }));
}

export const VERDICTS = { name: "verdicts", make: (tab) => new Verdicts(tab) };
