// A row of results for every arm: same query, same rank in the same column.

import { arrows } from "../common/arrows.js";
import { difference, paired } from "../common/baseline.js";
import { el, figure, onPoint, say } from "../common/dom.js";
import { brief, inFull } from "../common/names.js";
import { moved } from "../common/measures.js";
import { isHidden, whileSeen } from "../common/seen.js";
import { similarity, strip, Tile } from "../common/tiles.js";
import { swatch } from "./places.js";

/** `on`: {choose(row), point(result | null, images), pin(key | null)}. */
export class ResultRows {
  constructor(on) {
    this.on = on;
    this.rows = [];
    this.node = el("div", { class: "rs-stack rs-rows" });
    whileSeen(this.node, this);
  }

  draw() {
    if (this.given) this.show(...this.given);
  }

  drop() {
    for (const row of this.rows) row.drop();
  }

  /** `places`: the arms, see places.js. Rows of arms that stay are kept. */
  arrange(places) {
    const before = new Map(this.rows.map((row) => [row.place.key, row]));
    this.rows = places.map((place) => {
      const row = before.get(place.key);
      return row && row.place.place === place.place && row.place.of === place.of ? row : new Row(place, this);
    });
    if (this.rows.some((row, at) => this.node.children[at] !== row.node) || this.node.childElementCount !== this.rows.length) this.node.replaceChildren(...this.rows.map((row) => row.node));
  }

  /** Show an answer; `images`: what the tiles show; `pinned`: the arm, or the run, that the others are compared with. */
  show(answer, images, pinned) {
    this.given = [answer, images, pinned];
    if (isHidden(this.node)) return; // drawn when it is seen
    const arms = new Map(answer.arms.map((arm) => [`${arm.run}.${arm.arm}`, arm]));
    for (const row of this.rows) row.show(arms.get(row.place.key) ?? lost(answer, row.place), answer, images, arms.get(this.baselineKey(row.place, pinned)), pinned);
    this.mark(null);
  }

  /** Key of the arm that one is compared with; of a pinned run its arm of the same title, see `paired`. */
  baselineKey({ run, arm }, pinned) {
    if (!pinned || pinned.arm !== null) return pinned?.key;
    if (pinned.run === run) return null;
    const titles = (id) => this.rows.filter(({ place }) => place.run === id).map(({ place }) => place.title);
    return `${pinned.run}.${paired(titles(run), titles(pinned.run))[arm]}`;
  }

  busy(on) {
    this.node.setAttribute("aria-busy", String(on));
  }

  /** Mark an image of the gallery in all rows. */
  mark(id) {
    for (const row of this.rows) for (const tile of row.tiles) tile.press.classList.toggle("rs-same", id !== null && tile.id === id);
  }

  /** The strips scroll together, so that ranks stay in their columns. */
  scrolled(left) {
    for (const row of this.rows) if (row.list.scrollLeft !== left) row.list.scrollLeft = left;
  }
}

class Row {
  constructor(place, rows) {
    Object.assign(this, { place, rows, tiles: [] });
    this.summary = el("span", { class: "rs-note rs-summary" });
    this.said = el("p", { class: "rs-note rs-rownote", hidden: true });
    this.pin = el("button", { type: "button", class: "rs-act rs-pin", "aria-pressed": "false", text: "Baseline", title: "Compare the others with this one", onclick: () => rows.on.pin(this.pin.getAttribute("aria-pressed") === "true" ? null : place.key) });
    const of = place.of && el("span", { class: "rs-note rs-ellipsis rs-of", text: place.of, title: place.of });
    const head = el("h4", { class: "rs-flow" }, swatch(place.place), el("span", { text: place.title }), of || null, this.summary);
    this.list = strip(`Results of ${place.title}${place.of && `, ${place.of}`}`);
    this.list.removeAttribute("tabindex"); // its buttons are reached one by one, and by arrow keys
    this.list.addEventListener("scroll", () => rows.scrolled(this.list.scrollLeft));
    arrows(this.list, (by) => rows.rows[rows.rows.indexOf(this) + by]?.list);
    this.node = el("div", { class: "rs-row rs-resultrow" }, el("div", { class: "rs-rowhead" }, head, this.pin), this.said, this.list);
  }

  show(arm, answer, images, base, pinned) {
    const list = arm.reranked ?? arm.ranking;
    const said = arm.error ?? (arm.reranked ? "" : arm.ranking?.tied ?? "");
    this.said.hidden = !said;
    say(this.said, said);
    this.list.hidden = Boolean(arm.error);
    this.pin.hidden = Boolean(arm.error);
    this.pin.setAttribute("aria-pressed", String(pinned?.arm === null ? pinned.run === this.place.run : pinned?.key === this.place.key));
    this.summary.replaceChildren(...(arm.error ? [] : summary(arm, answer, base)));
    this.fill(list?.results ?? [], arm, answer, images);
  }

  fill(results, arm, answer, images) {
    while (this.tiles.length < results.length) this.tiles.push(this.tile());
    const before = arm.reranked ? new Map(arm.ranking.results.map(({ row }, rank) => [row, rank])) : null;
    this.tiles.forEach((tile, rank) => {
      tile.node.hidden = rank >= results.length;
      if (tile.node.hidden) {
        tile.id = null;
        return;
      }
      const result = results[rank];
      tile.fill(result, rank, images, before && (before.has(result.row) ? before.get(result.row) - rank : "new"));
    });
  }

  drop() {
    this.tiles = [];
    this.list.replaceChildren();
  }

  tile() {
    const tile = new ResultTile("button", { type: "button" });
    const { on } = this.rows;
    tile.press.addEventListener("click", () => tile.id !== null && on.choose(tile.id));
    onPoint(tile.press, (pointed) => {
      this.rows.mark(pointed ? tile.id : null);
      on.point(pointed ? tile.result : null, tile.run);
    });
    this.list.append(tile.node);
    return tile;
  }
}

/** Below the image and its severity: the class, the similarity, and what the image has in common with the query. */
class ResultTile extends Tile {
  constructor(...given) {
    super(...given);
    this.name = el("span", { class: "rs-note rs-tiletext" });
    this.near = el("span", { class: "rs-note rs-tiletext" });
    this.move = el("span", { class: "rs-note rs-tiletext rs-move" });
    this.press.append(this.name, this.near, this.move);
  }

  fill(result, rank, images, move) {
    this.result = result;
    const word = this.show(images, result.row, result.severity);
    this.word.hidden = !word;
    const [finest = ""] = result.classes;
    say(this.name, brief(finest));
    say(this.near, figure(result.similarity));
    say(this.move, move === null ? "" : moved(move) || "same rank");
    this.move.hidden = move === null;
    const path = result.classes.map((cls) => brief(cls)).join(", ");
    const about = [word, path].filter(Boolean).join(": ");
    this.press.setAttribute("aria-label", `Rank ${rank + 1}${about && `, ${about}`}${similarity(result.similarity)}. ${why(result)}${move === null ? "" : ` ${moved(move) || "same rank"}`}`);
    this.press.title = [...result.classes.map(inFull), why(result)].filter(Boolean).join("\n");
  }
}

/** Why a result counts as related, in a sentence; "" where it is not known. */
export function why({ severity, ancestor }) {
  if (severity === null) return "";
  return ancestor ? `In common: ${brief(ancestor.name)} (${brief(ancestor.level_name)}).` : "Nothing in common.";
}

/** "Score 0.490 → 0.520 +0.030", for every score. */
function summary(arm, answer, base) {
  const parts = answer.scores.flatMap(({ key, title }) => {
    const [first, last] = [arm.ranking.scores[key], (arm.reranked ?? arm.ranking).scores[key]];
    if (last === undefined) return [];
    const words = arm.reranked ? `${title} ${figure(first)} → ` : `${title} `;
    const other = base && base !== arm ? (base.reranked ?? base.ranking)?.scores[key] : undefined;
    return [el("span", { class: "rs-score" }, words, el("b", { text: figure(last) }), ...(other === undefined ? [] : [" ", difference(last - other)]))];
  });
  const step = el("span", { text: `step ${arm.step.toLocaleString("en-GB")}` });
  return [...parts, step].flatMap((part, at) => (at ? [" · ", part] : [part]));
}

/** What is shown of an arm that the answer does not have: its run cannot be read. */
function lost(answer, place) {
  const error = answer.arms.find((arm) => arm.run === place.run)?.error ?? "This run gave no answer. Search again.";
  return { error, ranking: null, reranked: null };
}
