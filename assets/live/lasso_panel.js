// The images inside the lasso: counts per class, the images, what can be done with them, and selections with a name.

import * as api from "../common/api.js";
import { arrows } from "../common/arrows.js";
import { el, grouped, onPoint, say } from "../common/dom.js";
import { button, Problem, rowForm, text } from "../common/fields.js";
import { saveCsv } from "../common/files.js";
import { brief } from "../common/names.js";
import { namesOf, thumbnail, imageLabel, tooltipOf } from "../common/thumbnails.js";
import { Tags } from "./tags.js";

const MOST = 60;

/** `on`: {hover(i | null), choose(i), clear(), send(section, ids), select(ids, title), labels: the tags on the maps}. */
export class LassoPanel {
  constructor(on) {
    this.on = on;
    this.ids = [];
    this.tags = new Tags();
    this.problem = new Problem();
    this.title = el("h3", {});
    this.counts = el("p", { class: "rs-note rs-path" });
    this.strip = el("ol", { class: "rs-strip rs-small", "aria-label": "Images in the lasso" });
    arrows(this.strip);
    this.named = el("div", { class: "rs-flow", role: "group", "aria-label": "Tags" });
    this.name = text("a tag for these images", { "aria-label": "Tag", maxlength: 40 });
    this.ways = [button("Retrieve with these", () => on.send("query", this.ids)), button("Mistakes of these", () => on.send("mistakes", this.ids))];
    const ways = [
      ...this.ways,
      button("Download (CSV)", () => this.download()),
      button("Clear", () => on.clear()),
    ];
    const head = el("div", { class: "rs-flow rs-lassohead" }, this.title, ...ways);
    this.body = el("div", { class: "rs-stack rs-tight" }, head, this.counts, this.strip, rowForm([this.name], "Tag", () => this.tag()), this.problem.node);
    this.node = el("section", { class: "rs-panel rs-stack rs-tight", "aria-label": "Images in the lasso", hidden: true }, this.named, this.body);
  }

  /** `classes`: {names, values}, what colours the maps, for the counts; `title`: what the images are, empty: those in the lasso. */
  show(run, ids, classes, title = "") {
    this.run = run;
    this.ids = ids;
    for (const way of this.ways) way.hidden = !run.searched;
    this.problem.say(null);
    this.offer();
    this.body.hidden = ids.length === 0;
    if (!ids.length) {
      for (const part of [this.title, this.counts, this.strip]) part.replaceChildren();
      return;
    }
    say(this.title, title || `${grouped(ids.length)} ${ids.length === 1 ? "image" : "images"} in the lasso`);
    say(this.counts, this.tally(classes));
    const shown = ids.slice(0, MOST).map((i) => this.tile(i));
    if (ids.length > MOST) shown.push(el("li", { class: "rs-note rs-rest", text: `and ${grouped(ids.length - MOST)} more` }));
    this.strip.replaceChildren(...shown);
  }

  /** The tags of the run, each a button that selects its images again. */
  offer() {
    const known = Object.entries(this.tags.of(this.run?.id)).map(([name, ids]) => [name, ids.filter((i) => i < this.run.points)]);
    this.node.hidden = !this.ids.length && !known.length;
    this.named.hidden = !known.length;
    this.on.labels.show(known);
    this.named.replaceChildren(...known.map(([name, ids]) => {
      const words = `${name} · ${grouped(ids.length)}`;
      const drop = button("\u00d7", () => { this.tags.remove(this.run.id, name); this.offer(); }, "rs-drop");
      drop.setAttribute("aria-label", `Remove the tag ${name}`);
      return el("span", { class: "rs-tag" }, button(words, () => this.on.select(ids, words)), drop);
    }), this.on.labels.switch);
  }

  tag() {
    const name = this.name.value.trim();
    if (!name) {
      this.name.focus();
      return;
    }
    this.tags.set(this.run.id, name, this.ids);
    this.name.value = "";
    this.offer();
  }

  tally({ names, values }) {
    const counts = new Map();
    for (const i of this.ids) {
      const name = names[values[i]];
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const words = sorted.slice(0, 8).map(([name, count]) => `${brief(name, 40)} ${count}`);
    if (sorted.length > 8) words.push(`${sorted.length - 8} more classes`);
    return words.join(" · ");
  }

  tile(i) {
    const image = thumbnail(el("span", { class: "rs-picture" }), this.run, i);
    const press = el("button", { type: "button", class: "rs-tile", "aria-label": imageLabel(this.run, i), title: tooltipOf(this.run, i) }, image);
    press.addEventListener("click", () => this.on.choose(i));
    onPoint(press, (pointed) => this.on.hover(pointed ? i : null));
    return el("li", {}, press);
  }

  async download() {
    const { run, ids } = this;
    try {
      const { part, rows, files } = await api.files(run.id);
      const from = (i) => [...(files.length ? [files[i]] : []), part, rows[i]];
      const head = ["point", ...(files.length ? ["file"] : []), "split", "row", ...run.levels, "tags"];
      saveCsv([head, ...ids.map((i) => [i, ...from(i), ...namesOf(run, i), this.tags.on(run.id, i).join("; ")])], `rankscope-${run.id}-selection.csv`);
      this.problem.say(null);
    } catch (error) {
      this.problem.say(error.message);
    }
  }
}
