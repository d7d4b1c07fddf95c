// Any trained run: the neighbours of a test image before and after something is taken out of it.

import * as server from "../common/api.js";
import { el, grouped, say } from "../common/dom.js";
import * as api from "./api.js";
import { Draw } from "./draw.js";
import { button, choose, field, fold, Problem, segments, select } from "../common/fields.js";
import { Newest } from "../common/newest.js";
import { percent } from "../common/measures.js";
import { Stage } from "./stage.js";
import { BeforeAfter } from "./before_after.js";
import { namesOf, pathOf, thumbnail, spoken } from "../common/thumbnails.js";

const SIDE = 512;
const THUMBS = 60;

/** `settings`: of the tab, for the fill. */
export class NeighbourShift {
  constructor(settings) {
    this.settings = settings;
    this.runs = select((id) => this.open(id));
    this.why = el("p", { class: "rs-note" });
    this.problem = new Problem();
    this.thumbs = el("ul", { class: "rs-thumbs", "aria-label": "Test images of the run" });
    this.pen = new Draw({ drawn: () => this.ask(), clear: () => this.clear() });
    this.stage = new Stage(this.pen.canvas);
    this.tool = segments("What is drawn", [["box", "Box"], ["brush", "Brush"]], "box", (tool) => this.pen.use(tool, this.stage));
    this.name = el("h3", {});
    this.hint = el("p", { class: "rs-note rs-hint", text: "Draw over something and see whose neighbour the image becomes." });
    this.after = el("img", { alt: "" });
    this.filled = el("figure", { class: "rs-flow rs-note rs-nearfilled", hidden: true }, this.after, el("figcaption", { text: "what the run sees after" }));
    this.rows = el("div", { class: "rs-stack rs-rows" });
    const another = button("Other images", () => this.offer(this.from + THUMBS));
    const head = el("header", { class: "rs-flow" }, this.name, this.tool);
    const draw = el("div", { class: "rs-side rs-nearside" }, head, this.stage.node, el("div", { class: "rs-stack rs-tight rs-foot" }, this.hint, el("div", { class: "rs-flow rs-tight rs-drawing" }, button("Clear", () => this.clear()))));
    this.body = el("div", { class: "rs-nearbody", hidden: true }, draw, el("div", { class: "rs-stack rs-nearresults" }, this.filled, this.rows));
    this.pick = el("div", { class: "rs-images rs-nearpick", hidden: true }, this.thumbs, another);
    const about = el("p", { class: "rs-note", text: "The same question to a run without captions: does an image keep its neighbours when something is taken out of it, or did the model look at that?" });
    this.fold = fold("Any trained run: neighbours before and after", about, el("div", { class: "rs-flow rs-form" }, field("Run", this.runs)), this.why, this.problem.node, this.pick, this.body);
    this.fold.classList.add("rs-largefold");
    this.fold.addEventListener("toggle", () => this.fold.open && this.read());
    this.node = el("section", { class: "rs-panel", "aria-label": "Neighbours before and after" }, this.fold);
    this.asking = new Newest(api.neighbours, (reply) => this.show(reply), (error) => this.fail(error));
  }

  async read() {
    if (this.list) return;
    say(this.why, "Reading the runs …");
    try {
      const { runs } = await api.runs();
      this.list = runs;
      choose(this.runs, runs.map((run) => ({ name: run.id, title: `${run.title}${run.usable ? "" : " (cannot be queried)"}`, disabled: !run.usable })), null);
      const first = runs.find((run) => run.usable);
      say(this.why, runs.length ? reasons(runs) : "There is no run yet. Train one in the sidebar; it can be queried here once it has stopped or finished.");
      if (!first) return;
      this.runs.value = first.id;
      await this.open(first.id);
    } catch (error) {
      say(this.why, "");
      this.problem.say(error.message);
    }
  }

  async open(id) {
    this.problem.say(null);
    try {
      this.run = await server.run(id);
    } catch (error) {
      return this.problem.say(error.message);
    }
    this.rows.replaceChildren();
    this.arms = this.run.arms.map((arm, i) => new BeforeAfter(this.run, arm.title, i));
    this.rows.replaceChildren(...this.arms.map((arm) => arm.node));
    this.pick.hidden = false;
    this.offer(0);
    return this.choose(0);
  }

  /** Test images to choose from, from the one numbered `from` on. */
  offer(from) {
    this.from = from < this.run.points ? from : 0;
    const many = Math.min(THUMBS, this.run.points - this.from);
    this.thumbs.replaceChildren(...Array.from({ length: many }, (_, n) => this.thumb(this.from + n)));
    this.thumbs.scrollLeft = 0;
  }

  thumb(i) {
    const press = thumbnail(el("button", { type: "button", class: "rs-thumb", "aria-label": spoken(this.run, i), "aria-pressed": String(i === this.index), onclick: () => this.choose(i) }), this.run, i);
    press.dataset.index = i;
    return el("li", {}, press);
  }

  choose(i) {
    this.index = i;
    for (const press of this.thumbs.querySelectorAll("button")) press.setAttribute("aria-pressed", String(Number(press.dataset.index) === i));
    this.body.hidden = false;
    say(this.name, namesOf(this.run, i)[0]);
    this.name.title = pathOf(this.run, i);
    this.stage.shape(1, 1);
    const url = api.runImageUrl(this.run.id, i, SIDE);
    this.stage.image.onload = () => this.stage.shape(this.stage.image.naturalWidth, this.stage.image.naturalHeight);
    this.stage.show(url, spoken(this.run, i));
    this.pen.use(this.tool.value, this.stage);
    this.clear();
  }

  clear() {
    this.pen.clear();
    this.asking.forget();
    this.filled.hidden = true;
    this.arms.forEach((arm) => arm.clear());
    say(this.hint, "Draw over something and see whose neighbour the image becomes.");
  }

  ask() {
    const region = this.pen.region;
    if (!region) return;
    this.problem.say(null);
    say(this.hint, "Asking …");
    this.asking.ask({ run: this.run.id, index: this.index, remove: region, fill: this.settings.paint, k: 8 });
  }

  show(reply) {
    say(this.hint, [`${percent(reply.share)} of the image filled.`, ...(reply.notes ?? [])].join(" "));
    this.after.src = api.filledUrl(reply.filled);
    this.after.alt = `${namesOf(this.run, this.index)[0]}, with the marked part filled`;
    this.filled.hidden = false;
    reply.arms.forEach((arm, i) => this.arms[i]?.show(arm));
  }

  fail(error) {
    say(this.hint, "");
    this.problem.say(error.message);
  }
}

/** Why some runs cannot be queried, each reason once. */
function reasons(runs) {
  const counted = new Map();
  for (const { usable, why } of runs) if (!usable && why) counted.set(why, (counted.get(why) ?? 0) + 1);
  return [...counted].map(([why, count]) => `${grouped(count)} of ${grouped(runs.length)} cannot be queried: ${why}`).join(" ");
}
