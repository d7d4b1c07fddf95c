// A fine-tuning run as it goes: one line of state, two small curves, its controls, and the model it ends in.

import * as api from "../common/api.js";
import { Panel } from "../common/panel.js";
import { armKey, el, say } from "../common/dom.js";
import { button, fold, Problem } from "../common/fields.js";
import { Poll } from "../common/poll.js";
import { Series } from "../common/series.js";
import { sentence } from "../common/status.js";
import { toLive } from "../common/navigation.js";

export function mount(element, { value, watch, act, use }) {
  const follow = new Follow({ act: (action, asked) => act({ action, ...asked, token: api.token() }), use: (name) => use({ name }) });
  element.querySelector(".rs-runfollow").replaceChildren(follow.node);
  const show = () => value() && value() !== follow.id && follow.open(value());
  watch(show);
  show();
}

/** `on`: {act(action, payload), use(name of a model)}. */
class Follow {
  constructor(on) {
    this.on = on;
    this.line = el("p", { class: "rs-followline", role: "status" });
    this.problem = new Problem();
    this.plots = el("div", { class: "rs-followplots" });
    const control = (name, action) => button(name, () => this.control(action));
    this.buttons = { pause: control("Pause", "pause"), resume: control("Resume", "resume"), stop: control("Stop", "stop") };
    this.live = button("Watch its maps in Live", () => toLive(this.id));
    this.uses = el("div", { class: "rs-flow" });
    const acts = el("div", { class: "rs-flow rs-tight rs-drawing" }, ...Object.values(this.buttons), this.live);
    this.known = el("div", {});
    this.node = el("div", { class: "rs-stack rs-follow", hidden: true }, this.line, this.problem.node, this.plots, acts, this.known, this.uses);
    this.poll = new Poll(() => this.ask(), (error) => this.showError(error), this.node);
  }

  async open(id) {
    this.poll.stop();
    Object.assign(this, { id, row: 0, series: new Series(), run: null });
    this.node.hidden = false;
    for (const part of [this.plots, this.known, this.uses]) part.replaceChildren();
    this.poll.start();
  }

  /** Panels need the arms' titles, which the run knows as soon as it exists. */
  async loadRun() {
    const { id } = this;
    const run = await api.run(id);
    if (id !== this.id) return;
    this.run = run;
    this.showNotes(run);
    const still = { hover: () => {}, seek: () => {} };
    this.panels = run.measures.panels.filter((panel) => panel.small).map((panel) => new Panel(run, { ...panel, dashed: null }, still));
    this.plots.replaceChildren(armKey(run.arms.map((arm) => arm.title)), ...this.panels.map((panel) => panel.node));
  }

  /** One turn; true while the run moves. */
  async ask() {
    if (!this.run) await this.loadRun();
    const { id } = this;
    const news = await api.poll(id, -1, this.row);
    if (id !== this.id) return true;
    if (!this.run.notes.length && news.step > 0) this.showNotes(await api.run(id)); // known once the images are read
    this.row = news.row;
    this.series.add(news.metrics, news.keys);
    this.state(news);
    const last = Math.max(this.series.lastStep(), news.planned_steps ?? 0, 1);
    for (const panel of this.panels) {
      panel.draw(this.series, last);
      panel.cursor(this.series, this.series.lastStep());
    }
    return news.moving;
  }

  /** What each recipe is trained on, and how the dataset was read. */
  showNotes(run) {
    if (run.id !== this.id) return;
    this.run.notes = run.notes;
    if (!run.notes.length) return; // nothing to unfold before the images are read
    const notes = el("ul", { class: "rs-note" }, ...run.notes.map((note) => el("li", { text: note })));
    this.known.replaceChildren(fold("What it is trained on", notes));
  }

  state(news) {
    say(this.line, sentence(news));
    this.showError(news.failed ? { message: news.error ?? "Fine-tuning failed without a message." } : null);
    for (const [act, node] of Object.entries(this.buttons)) node.hidden = !news.acts.includes(act);
    if (news.usable && !this.uses.children.length) this.offer();
    if (!news.usable) this.uses.replaceChildren();
  }

  offer() {
    const many = this.run.arms.length > 1;
    const use = (arm, i) => button(many ? `Use “${arm.title}” above` : "Use it above", () => this.on.use(`run:${this.id}:${i}`), i ? "" : "rs-primary");
    this.uses.replaceChildren(...this.run.arms.map(use));
  }

  control(action) {
    this.on.act(action, { id: this.id });
    this.poll.schedule(300);
  }

  showError(error) {
    this.problem.say(error?.message);
  }
}
