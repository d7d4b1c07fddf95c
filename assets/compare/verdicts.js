// What the runs say in words: a sentence per pair of variants, those with a difference first.

import { el, say } from "../common/dom.js";
import { fold } from "../common/fields.js";

const MOST = 12; // sentences without a difference that stand outside the fold

class Verdicts {
  constructor(tab) {
    this.tab = tab;
    this.title = el("h3", {});
    this.seen = el("ul", { class: "rs-stack rs-tight rs-verdicts" });
    this.unseen = el("ul", { class: "rs-stack rs-tight rs-verdicts" });
    this.rest = fold("", this.unseen);
    this.method = el("p", { class: "rs-note" });
    this.node = el("section", { class: "rs-stack rs-tight", "aria-label": "Verdicts" }, this.title, this.seen, this.rest, this.method);
  }

  show(part) {
    const { metric, condition } = this.tab;
    const pairs = metric ? part.verdicts(metric.key, condition) : [];
    this.node.hidden = !pairs.length;
    if (!pairs.length) return;
    say(this.title, `What this says in ${metric.title}`);
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
  return el("li", { class: "rs-verdict", "data-seen": String(seen) }, el("span", { class: "rs-verdictmark", "aria-hidden": "true", text: seen ? "▲" : "=" }), el("span", { text: words }));
}

export const VERDICTS = { name: "verdicts", make: (tab) => new Verdicts(tab) };
