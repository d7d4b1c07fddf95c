// The sidebar: the form of a new run, and Train.

import { json, post } from "../common/api.js";
import { el, say } from "../common/dom.js";
import { button, choose, Problem, select } from "../common/fields.js";
import { guardDrops } from "../common/files.js";
import { toForm, toPlan } from "../common/navigation.js";
import { labelled } from "./controls.js";
import { Form } from "./form.js";
import { changes, keep, kept, usable, usablePlan } from "./kept.js";
import { Plan } from "./plan.js";
import { tabKeys } from "./tab_keys.js";

const MOVED = 500; // ms until the sidebar has moved
const ONCE = { name: "", title: "once" };

export async function mount(element) {
  const host = element.querySelector(".rs-setup");
  const all = await json("form/start");
  const sidebar = new Sidebar(all);
  tabKeys();
  guardDrops(imagesBox);
  document.body.prepend(button("Skip to the tabs", skip, "rs-skip"));
  host.replaceChildren(sidebar.node);
  window.rankscopeSweep = (id) => sidebar.plan(id);
  window.rankscopeToPlan = toPlan;
  window.rankscopeTrain = (losses) => sidebar.compare(losses);
}

/** The first stop of the Tab key leads past the settings. */
function skip() {
  document.querySelector("#rs-tabs button[role=tab][aria-selected=true]").focus();
}

/** Where images of one's own are dropped, wherever on a tab that trains they fall. */
function imagesBox() {
  return document.querySelector("#rs-settings:not(.rs-away) .rs-takesdrops");
}

class Sidebar {
  constructor(all) {
    this.all = all;
    this.held = kept();
    this.kinds = select((name) => this.open(name), all.kinds, this.held.kind);
    this.presets = select((name) => this.preset(name));
    this.sentence = el("p", { class: "rs-help" });
    this.theirs = button("Use the settings of the run on screen", () => this.use(window.rankscope.viewed()), "rs-textbutton");
    this.form = el("div", {});
    this.planned = new Plan({ changed: () => this.keep(), count: () => post("form/count", this.asked) });
    this.often = select((name) => this.schedule(name, true));
    this.often.setAttribute("aria-label", "How often");
    this.train = button("Train", () => this.start(), "rs-primary");
    this.note = el("div", { class: "rs-stack rs-tight", role: "status" });
    this.problem = new Problem();
    const kinds = labelled({ label: "Kind of run" }, this.kinds);
    kinds.hidden = all.kinds.length < 2;
    this.menu = labelled({ label: "Start from a preset" }, this.presets);
    this.setup = el("div", { class: "rs-stack rs-runform" }, el("h2", { text: "New run" }), this.theirs, kinds, this.menu, this.sentence, this.form, this.planned.node, button("Reset to defaults", () => this.reset()));
    this.go = el("div", { class: "rs-stack rs-tight rs-go" }, this.note, this.problem.node, this.planned.tooLarge.node, el("div", { class: "rs-trainrow" }, this.train, this.often)); // last: what is said above does not move it
    this.node = el("div", { class: "rs-stack" }, this.setup, this.go);
    this.open(all.kinds.some(({ name }) => name === this.held.kind) ? this.held.kind : all.kinds[0].name);
    for (const name of ["rankscope:state", "rankscope:viewed"]) window.addEventListener(name, ({ detail }) => this.offer(detail));
    this.offer();
  }

  get asked() {
    return { ...this.current.asked, ...this.planned.values };
  }

  /** What was said at a start is about the run that was started: it goes when another one is opened, its wait when it trains. */
  offer(state) {
    const id = window.rankscope?.viewed() ?? "";
    this.theirs.hidden = !id;
    if (this.seen && id !== this.seen && id !== this.started) this.quiet();
    this.seen = id;
    if (this.waits && state?.id === this.started && state.step > 0) this.told("", this.said);
  }

  /** Show the form of a kind as it was left. */
  open(name) {
    const kind = this.all.kinds.find((kind) => kind.name === name);
    const state = this.held.forms[name] ?? undefined;
    this.kinds.value = name;
    this.menu.hidden = !kind.presets.length;
    choose(this.presets, [{ name: "", title: "Defaults" }, ...kind.presets], "");
    say(this.sentence, kind.sentence);
    const fields = kind.sections.flatMap((section) => section.fields);
    this.fill(kind, usable(state?.settings, fields, this.all.registries), usablePlan(state));
  }

  fill(kind, settings, { plan = "", own = {}, vary = [] } = {}) {
    this.current = new Form(kind, this.all, settings, () => this.changed());
    this.form.replaceChildren(this.current.node);
    this.plans = kind.plans;
    this.state = { own, vary };
    choose(this.often, [ONCE, ...kind.plans.map(({ name, word }) => ({ name, title: word }))], "");
    this.schedule(kind.plans.some(({ name }) => name === plan) ? plan : "");
    this.keep();
  }

  changed() {
    this.quiet();
    this.keep();
    this.planned.count();
  }

  /** Train once, or a plan. */
  schedule(name, chosen = false) {
    if (chosen && this.planned.plan) this.state = this.planned.values;
    const plan = this.plans.find((plan) => plan.name === name);
    this.often.value = name;
    this.planned.show(plan ?? null, this.state);
    const { steps, epochs } = this.current.values;
    if (chosen && plan && !steps && !epochs) this.current.take({ steps: plan.steps });
    if (chosen && plan) this.planned.node.scrollIntoView({ block: "center" });
    this.keep();
  }

  preset(name) {
    const { kind, values } = this.current;
    const preset = kind.presets.find((preset) => preset.name === name);
    say(this.sentence, preset?.sentence ?? kind.sentence);
    const kept = ["data.", "minutes", "steps", "epochs"];
    const stays = Object.fromEntries(Object.entries(values).filter(([key]) => kept.some((start) => key.startsWith(start))));
    this.fill(kind, { ...stays, ...preset?.values }, this.planned.values);
    this.quiet();
  }

  reset() {
    choose(this.presets, [{ name: "", title: "Defaults" }, ...this.current.kind.presets], "");
    say(this.sentence, this.current.kind.sentence);
    this.fill(this.current.kind, {});
    this.quiet();
  }

  keep() {
    const { kind, values, fields } = this.current;
    this.held.kind = kind.name;
    this.held.forms[kind.name] = { settings: changes(values, fields), ...this.planned.values };
    keep(this.held);
  }

  /** Fill the form with the settings of a run; `plan`: also of a single run the fields of a plan. */
  async use(id, plan = "") {
    this.quiet();
    try {
      const reply = await json(`form/run/${encodeURIComponent(id)}`);
      const kind = this.all.kinds.find(({ name }) => name === reply.kind);
      this.kinds.value = kind.name;
      this.open(kind.name);
      this.fill(kind, reply.settings, { ...reply, plan: reply.plan || plan });
      this.tell([`The form holds the settings of this run.${plan ? " Choose seeds, and what else is varied, then press the button." : ""}`, reply.said].filter(Boolean));
    } catch (error) {
      this.problem.say(error.message);
    }
  }

  /** Begin a plan with the settings of a run; without one with those of the form. */
  async plan(id) {
    document.querySelector("#rs-sidebar:not(.open) .toggle-button")?.click();
    const first = this.plans[0].name;
    if (id) await this.use(id, first);
    else this.schedule(first, true);
    this.planned.node.scrollIntoView({ block: "center" });
    this.planned.node.querySelector("input")?.focus({ preventScroll: true });
  }

  /** Fill the form with a comparison of losses, and show it. */
  compare(names) {
    const comparing = this.all.kinds.find(({ sections }) => sections.some(({ names }) => names.includes("losses")));
    this.open(comparing.name);
    const losses = [...new Set(names)].map((name) => ({ name, parameters: {} }));
    this.fill(this.current.kind, { ...this.current.values, losses });
    toForm();
    document.querySelector("#rs-sidebar:not(.open) .toggle-button")?.click();
    this.tell(["The form holds these losses. Press Train to begin."]);
  }

  tell(lines) {
    this.note.replaceChildren(...lines.map((line) => el("p", { class: "rs-help", text: line })));
  }

  /** Say how long the run that was started waits, and what else there is to say of it. */
  told(waits, said) {
    Object.assign(this, { waits, said });
    this.tell([waits, ...said].filter(Boolean));
  }

  quiet() {
    this.told("", []);
    this.sure = false;
    say(this.train, "Train");
    this.problem.say(null);
  }

  /** Check everything, queue the run and open it, or say below what is wrong. */
  async start() {
    const { sure } = this;
    const focused = document.activeElement === this.train;
    this.quiet();
    this.train.disabled = true;
    try {
      const { id, waits, said, problem, asks } = await post("form/train", { ...this.asked, sure });
      if (asks) {
        this.sure = true;
        this.tell([asks]);
        say(this.train, "Begin");
        return;
      }
      if (problem) {
        this.problem.say(problem);
        return;
      }
      this.started = id;
      this.told(waits, said);
      await window.rankscope?.show?.(id);
      // on a phone the sidebar covers the page
      if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
    } catch (error) {
      this.problem.say(error.message);
    } finally {
      this.train.disabled = false;
      if (focused && document.activeElement === document.body) this.train.focus({ preventScroll: true });
    }
  }
}

/** The sidebar shows what the open tab starts; where it starts nothing it gives its place to the tab. */
let folded = false;
const opened = ({ name, trains }) => {
  document.getElementById("rs-settings")?.classList.toggle("rs-away", !trains);
  for (const aside of document.querySelectorAll("#rs-aside [data-tab]")) aside.hidden = aside.dataset.tab !== name;
  const toggle = document.querySelector(trains ? "#rs-sidebar:not(.open) .toggle-button" : "#rs-sidebar.open .toggle-button");
  if (trains ? folded : toggle) toggle?.click();
  folded = !trains && Boolean(toggle || folded);
};
document.addEventListener("click", ({ target }) => { // figures take the width that they have once the sidebar has moved
  if (target.closest("#rs-sidebar .toggle-button")) setTimeout(() => window.dispatchEvent(new Event("resize")), MOVED);
});
window.addEventListener("rankscope:tab", ({ detail }) => opened(detail));
if (window.rankscopeTab) opened(window.rankscopeTab); // before this was read
