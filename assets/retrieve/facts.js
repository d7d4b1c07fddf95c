// How the arms were searched: the index and why, its recall, what took how long.

import { el, say } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { table, tableBox } from "../common/table.js";

const milliseconds = (seconds) => (seconds === undefined ? "–" : `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`);
const built = ({ seconds }) => (seconds ? `${seconds.toFixed(1)} s` : "–");

export class Facts {
  constructor() {
    this.line = el("p", { class: "rs-note" });
    this.box = tableBox();
    this.more = fold("How each model was searched", this.box);
    this.node = el("div", { class: "rs-stack rs-tight", hidden: true }, this.line, this.more);
  }

  show(answer, places) {
    const arms = places.flatMap((place) => answer.arms.filter((arm) => `${arm.run}.${arm.arm}` === place.key && arm.index).map((arm) => [place, arm]));
    this.node.hidden = !arms.length;
    if (!arms.length) return;
    say(this.line, sentence(arms.map(([, arm]) => arm.index)));
    const rows = arms.map(([place, { index, step, seconds }]) => [place.of ? `${place.title}, ${place.of}` : place.title, step.toLocaleString("en-GB"), index.title, index.recall.toFixed(3), built(index), ...["encode", "search", "rerank"].map((what) => milliseconds(seconds[what]))]);
    this.box.replaceChildren(table(["Loss", "Step", "Index", "Recall at 10 against exact search", "Built in", "Encoding", "Search", "Re-ranking"], rows));
  }
}

/** "Flat: few enough. Recall at 10 against exact search 1.000." */
function sentence(indexes) {
  const [{ title, reason }] = indexes;
  const range = (values, digits) => [...new Set([Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits)))].join(" to ");
  const recall = `Recall at 10 against exact search: ${range(indexes.map((index) => index.recall), 3)}.`;
  const seconds = indexes.map((index) => index.seconds);
  const time = Math.max(...seconds) ? ` Built in ${range(seconds, 1)} s.` : "";
  return `${title}: ${reason} ${recall}${time}`;
}
