// The head of the tab: which plan, how far it is, and what can be done with it.

import { token } from "../common/api.js";
import { Deletion } from "../common/deletion.js";
import { el, origin, say } from "../common/dom.js";
import { DownloadFold } from "../common/downloads.js";
import { button, choose, field, number, rowForm, select } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";

export class PlanBar {
  /** `on`: {act(action, id, token), public, open(id), left() before a plan is deleted}. */
  constructor(on) {
    Object.assign(this, { on, plan: null });
    this.menu = select((id) => on.open(id));
    this.choice = field("Comparison", this.menu, { class: "rs-field rs-whichplan" });
    this.title = el("h2", {});
    this.badge = el("span", { class: "rs-note rs-badge", text: "recorded", hidden: true });
    this.summary = el("p", { class: "rs-note" });
    this.progress = el("progress", { class: "rs-progress", "aria-label": "Runs that have ended" });
    this.words = el("p", { class: "rs-note rs-phase", role: "status" });
    this.error = el("p", { class: "rs-note rs-why", hidden: true });
    const act = (name) => () => on.act(name, this.plan.id, token());
    this.stop = button("Stop", act("stop"));
    this.resume = button("Resume", act("resume"));
    this.count = number(3, 1, 19);
    this.count.setAttribute("aria-label", "More seeds");
    this.more = rowForm([this.count], "Add seeds", () => on.act("add_seeds", this.plan.id, token(), { seeds: Number(this.count.value) }));
    this.more.classList.add("rs-moreseeds");
    this.again = button("Use its settings", () => window.rankscope?.sweep?.(this.plan.id));
    this.downloads = new DownloadFold();
    this.deletion = new Deletion(() => this.leave());
    this.acts = el("div", { class: "rs-flow rs-planacts" }, this.stop, this.resume, this.more, this.downloads.node, this.again, ...this.deletion.nodes);
    const naming = el("div", { class: "rs-stack rs-tight" }, el("div", { class: "rs-flow" }, this.title, this.badge), this.summary);
    this.head = el("header", { class: "rs-planhead" }, naming, this.choice);
    this.moving = el("div", { class: "rs-flow rs-planmoving" }, this.progress, this.words);
    this.node = el("div", { class: "rs-stack rs-tight", hidden: true }, this.head, this.moving, this.error, this.acts, this.downloads.push.node);
  }

  /** The plans that there are, newest first. */
  list(plans, id) {
    const text = JSON.stringify([plans, id]);
    if (text === this.text) return;
    this.text = text;
    this.choice.hidden = plans.length < 2;
    choose(this.menu, plans.map((plan) => ({ name: plan.id, title: `${brief(plan.title, 100)}, ${origin(plan)}` })), id);
  }

  /** A report, or null for none. */
  show(plan) {
    this.node.hidden = !plan;
    if (plan?.id !== this.plan?.id) this.deletion.ask(false);
    this.plan = plan;
    if (!plan) return;
    const { state } = plan;
    say(this.title, brief(plan.title, 160));
    this.title.title = inFull(plan.title);
    this.badge.hidden = !plan.recorded;
    say(this.badge, plan.hub ? `from the Hub: ${plan.hub.replace(/@([0-9a-f]{8}).*/, " at $1")}` : "recorded");
    say(this.summary, brief(plan.summary, 300));
    this.progress.max = Math.max(1, state.planned_steps ?? 1);
    this.progress.value = state.step;
    this.progress.hidden = !state.moving;
    say(this.words, state.words);
    this.words.dataset.phase = state.phase;
    this.error.hidden = !state.error;
    say(this.error, state.error ?? "");
    const mine = !plan.read_only && (!this.on.public || plan.mine === true);
    this.stop.hidden = !mine || !state.acts.includes("stop");
    this.resume.hidden = !mine || state.moving || !state.acts.includes("resume");
    this.more.hidden = !mine || state.moving || plan.seeds_left < 1;
    this.more.lastChild.title = `Train it with more seeds; at most ${plan.seeds_left}`;
    this.again.hidden = !window.rankscopePlans?.offered(plan.of);
    this.downloads.node.hidden = !plan.parts.some((part) => part.table);
    this.downloads.show(plan);
    this.deletion.count(plan.runs.filter((run) => run.there).length);
    this.deletion.allow(mine && !state.moving);
  }

  leave() {
    this.on.left();
    this.on.act("delete", this.plan.id, token());
  }
}
