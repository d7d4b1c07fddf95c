// The Runs tab: a list that is refreshed while it is visible; each card is updated in place.

import * as api from "../common/api.js";
import { Deletion } from "../common/deletion.js";
import { el, figure, grouped, say, swatch, when } from "../common/dom.js";
import { DownloadFold } from "../common/downloads.js";
import { button, fold, Problem } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { Poll } from "../common/poll.js";
import { show, toLive } from "../common/navigation.js";

/** `act(action, id, token)` asks the server; `public`: only a run's owner may change it. */
export function mount(element, options) {
  const host = element.querySelector(".rs-runs") ?? element;
  if (!host.rankscope) host.rankscope = new Runs(host, options);
}

class Runs {
  constructor(host, { act, public: shared }) {
    Object.assign(this, { act, shared, cards: new Map() });
    this.empty = el("p", { class: "rs-empty", hidden: true, text: "No run yet. Choose images and losses in the sidebar, then press Train: the run appears here and stays until you delete it." });
    this.problem = new Problem();
    this.list = el("ul", { class: "rs-runlist" });
    host.replaceChildren(this.problem.node, this.empty, this.list);
    const showError = (error) => this.problem.say(error && `The list could not be read: ${error.message} It is tried again.`);
    this.poll = new Poll(() => this.read(), showError, host);
    window.addEventListener("rankscope:changed", () => this.poll.schedule(0));
    this.poll.start();
  }

  async read() {
    this.show((await api.runs()).runs);
  }

  show(runs) {
    this.empty.hidden = runs.length > 0;
    const ids = new Set(runs.map((run) => run.id));
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      card.node.remove();
      this.cards.delete(id);
    }
    const plans = new Set(runs.filter((run) => run.plans && !run.part_of).map((run) => run.id)); // those that can be read
    const within = new Map(); // the runs of each plan
    for (const run of runs) if (plans.has(run.part_of)) within.set(run.part_of, [...(within.get(run.part_of) ?? []), run]);
    this.fill(this.list, runs.filter((run) => !plans.has(run.part_of)));
    for (const run of runs) if (run.plans) this.cards.get(run.id)?.showParts(within.get(run.id) ?? []);
  }

  /** The cards of some runs as the items of a list, in order. */
  fill(list, runs) {
    runs.forEach((run, place) => {
      if (!this.cards.has(run.id)) this.cards.set(run.id, new Card(run, this));
      const card = this.cards.get(run.id);
      card.show(run);
      if (list.children[place] !== card.node) list.insertBefore(card.node, list.children[place] ?? null);
    });
  }
}

class Card {
  constructor(run, list) {
    this.list = list;
    this.id = run.id;
    this.title = el("button", { type: "button", class: "rs-runtitle", onclick: () => this.open() });
    this.phase = el("span", { class: "rs-note rs-phase" });
    this.about = el("p", { class: "rs-note rs-runabout" });
    this.error = el("p", { class: "rs-note rs-runtrouble" });
    this.arms = el("ul", { class: "rs-runarms" });
    this.openButton = button("Open", () => this.open());
    this.resume = button("Resume", () => this.ask("resume"));
    this.stop = button("Stop", () => this.ask("stop"));
    this.deletion = new Deletion(() => this.ask("delete"));
    this.downloads = new DownloadFold();
    this.acts = el("div", { class: "rs-flow rs-runacts" }, this.openButton, this.resume, this.stop, this.downloads.node, ...this.deletion.nodes);
    const head = el("div", { class: "rs-flow rs-runhead" }, el("h3", {}, this.title), this.phase);
    this.parts = el("ul", { class: "rs-runlist" });
    this.within = fold("", this.parts);
    this.within.hidden = true;
    this.within.addEventListener("toggle", () => this.within.open && this.list.fill(this.parts, this.held));
    this.held = [];
    this.node = el("li", { class: "rs-runcard" }, head, this.about, this.error, this.arms, this.acts, this.within);
  }

  open() {
    if (this.run.plans) show(this.id);
    else toLive(this.id);
  }

  /** The runs that are part of this one, behind a line that counts them. */
  showParts(runs) {
    this.held = runs;
    this.within.hidden = !runs.length;
    say(this.within.querySelector("summary"), runs.length === 1 ? "1 run" : `${runs.length} runs`);
    this.deletion.count(runs.length);
    if (this.within.open) this.list.fill(this.parts, runs);
  }

  show(run) {
    const text = JSON.stringify(run);
    if (text === this.text) return;
    this.text = text;
    this.run = run;
    say(this.title, brief(run.title, 160));
    this.title.title = inFull(run.title);
    for (const [node, name] of [[this.openButton, "Open"], [this.resume, "Resume"], [this.stop, "Stop"], [this.deletion.begin, "Delete"]]) {
      node.setAttribute("aria-label", `${name}: ${brief(run.title, 160)}, ${when(run.created)}`);
    }
    say(this.phase, run.recorded ? "recorded run" : run.label);
    this.phase.dataset.phase = run.recorded ? "recorded" : run.phase;
    say(this.about, [brief(run.summary || run.data, 300), steps(run), place(run), size(run.bytes), run.recorded ? null : when(run.created), run.read_only && !run.recorded ? "in a read-only place" : null].filter(Boolean).join(" · "));
    say(this.error, run.error ?? "");
    this.error.hidden = !run.error;
    this.arms.replaceChildren(...run.losses.map((loss, arm) => row(loss, arm, run)));
    this.downloads.show(run);
    this.updateActions();
  }

  /** Only what the run's state and its owner allow is offered. */
  updateActions() {
    const { run } = this;
    const mine = !run.read_only && (!this.list.shared || run.mine === true);
    this.openButton.hidden = run.damaged;
    this.title.disabled = run.damaged;
    this.downloads.node.hidden = run.damaged || run.step === 0;
    this.resume.hidden = !mine || run.moving || !run.acts.includes("resume");
    this.stop.hidden = !mine || !run.acts.includes("stop");
    this.deletion.allow(mine && !run.moving);
  }

  ask(action) {
    this.deletion.ask(false);
    this.list.act(action, this.id, api.token());
  }
}

function row(loss, arm, run) {
  const numbers = run.headline.map(({ title, values }) => el("span", { class: "rs-note rs-number" }, el("b", { text: figure(values[arm]) }), ` ${title}`));
  return el("li", { class: "rs-flow" }, swatch(arm), el("span", { class: "rs-armname", text: loss }), ...numbers);
}

const steps = (run) => (run.plans ? `${run.step} of ${run.planned_steps ?? "…"} runs ended` : run.step ? `${grouped(run.step)} steps` : null);
const place = (run) => (run.queue_position ? `number ${run.queue_position} in the queue` : null);
const size = (bytes) => (bytes > 1e6 ? `${(bytes / 1e6).toFixed(bytes > 1e7 ? 0 : 1)} MB` : `${Math.max(1, Math.round(bytes / 1e3))} kB`);
