// Small multiples: one panel per number, one colour per run, one cursor for all of them and the scrubber.

import { el, grouped, say } from "../common/dom.js";
import { fold } from "../common/fields.js";
import { listed, signed } from "../common/measures.js";
import { brief } from "../common/names.js";
import { Ablation } from "./ablation.js";
import { Panel, short } from "../common/panel.js";
import { Plots } from "./plots/plots.js";
import { Profiles } from "./profiles.js";
import { table, tableBox } from "../common/table.js";

const DOTTED = "dotted: baseline";

/** `on`: {seek(step)} when a panel is clicked; `baseline`, `untrained`: see baseline.js, untrained.js. */
export class Curves {
  constructor(on, baseline, untrained) {
    Object.assign(this, { on, baseline, untrained });
    this.panels = new Map();
    this.first = el("div", { class: "rs-columns rs-panels" });
    this.later = el("div", { class: "rs-columns rs-panels" });
    this.rest = fold("More curves: loss terms, levels, speed", this.later);
    this.table = tableBox();
    this.numbers = fold("Numbers as a table", this.table);
    this.numbers.addEventListener("toggle", () => this.tabulate());
    this.key = el("p", { class: "rs-note rs-key" });
    this.pictures = [new Ablation(), new Profiles(), new Plots(on)];
    const pictures = this.pictures.map((picture) => picture.node);
    this.node = el("section", { class: "rs-curves", "aria-label": "Curves" }, this.first, this.key, ...pictures, this.rest, this.numbers);
  }

  /** No numbers yet. */
  empty() {
    this.hovered = null;
    this.step = undefined;
    this.panels.clear();
    for (const picture of this.pictures) picture.empty();
    for (const part of [this.first, this.later, this.table]) part.replaceChildren();
    say(this.key, "");
  }

  load(run, series) {
    this.empty();
    this.run = run;
    this.series = series;
    for (const number of run.measures.panels) this.panel(this.first, number);
    for (const picture of this.pictures) picture.load(run);
  }

  panel(host, number) {
    const panel = new Panel(this.run, number, {
      hover: (step) => this.hover(step),
      seek: (step) => this.on.seek(step),
    });
    this.panels.set(number.key, panel);
    host.append(panel.node);
  }

  /** Panels for keys that have turned up: named terms, levels, speed. */
  discover() {
    const { later } = this.run.measures;
    const place = (key) => Math.max(later.indexOf(key), later.indexOf(this.series.named[key].name));
    const fresh = this.series.keys.filter((key) => !this.panels.has(key) && this.series.named[key].curve && place(key) >= 0);
    for (const key of fresh.sort((a, b) => place(a) - place(b))) this.panel(this.later, { key, ...this.series.named[key] });
    this.rest.hidden = !this.later.children.length;
  }

  update(step) {
    this.step = step;
    this.discover();
    this.draw();
    for (const picture of this.pictures) picture.update(this.series, step);
    if (this.numbers.open) this.tabulate();
  }

  draw() {
    const last = Math.max(this.series.lastStep(), 1);
    const words = this.stages().map(([step, title]) => `${title} from step ${grouped(step)}`);
    say(this.key, [`steps 0 to ${grouped(last)}`, this.run.measures.legend, this.dotted(), ...words].filter(Boolean).join(" · "));
    for (const panel of this.panels.values()) {
      panel.draw(this.series, last, this.stages(), this.baseline.lines(panel.key, last), this.untrained.lines(panel.key));
      panel.cursor(this.series, this.hovered ?? this.step);
    }
  }

  /** What the lines of the baseline look like; grey are those that stand in no arm's colour. */
  dotted() {
    if (!this.baseline.comparable) return "";
    const grey = this.baseline.about.arms.filter((title) => !this.run.arms.some((arm) => arm.title === title));
    return grey.length ? `${DOTTED}, its ${listed(grey.map((title) => brief(title)))} grey` : DOTTED;
  }

  /** [step, title] of each stage that has begun; empty in a run of one stage. */
  stages() {
    const { stage } = this.run.measures;
    return this.series.keys.filter((key) => key.startsWith(stage)).map((key) => [this.series.arms(key)[0][0][0], key.slice(stage.length)]);
  }

  hover(step) {
    this.hovered = step;
    for (const panel of this.panels.values()) panel.cursor(this.series, step ?? this.step);
  }

  tabulate() {
    if (!this.numbers.open) return;
    const { arms } = this.run;
    const cell = (key, arm) => {
      const measured = this.series.point(key, arm, this.step);
      const less = this.baseline.less(key, arm, measured, !this.series.named[key].curve);
      return `${short(measured?.[1])}${less === null ? "" : ` (${signed(less, short)})`}`;
    };
    const row = (key) => [brief(this.series.named[key].title), ...arms.map((_, arm) => cell(key, arm))];
    const keys = this.series.keys.filter((key) => !key.startsWith(this.run.measures.stage));
    this.table.replaceChildren(table([`At step ${grouped(this.step)}`, ...arms.map((arm) => arm.title)], keys.map(row)));
  }
}
