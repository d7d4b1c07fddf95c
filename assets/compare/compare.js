// The tab "Compare": one plan, its runs, and what they say together. Mounted once.

import * as api from "../common/api.js";
import { el, say } from "../common/dom.js";
import { button, choose, field, Problem, segments, select } from "../common/fields.js";
import { COMPARISON } from "../common/navigation.js";
import { Poll } from "../common/poll.js";
import { HubOpening } from "./hub_opening.js";
import { PlanBar } from "./plan_bar.js";
import { named, read } from "./reading.js";
import { SECTIONS } from "./sections.js";

const NONE = "No comparison yet. A sweep trains the same losses, methods or recipes over several seeds, so that a difference can be told from chance.";
const EVERY = 5; // turns of the poll between two looks at the list of plans
const OTHERWISE = "One run in Live may say otherwise: it is one of these seeds. So may Claims, where the settings of each side were searched first.";
const PENDING = "The results fill in as the runs finish.";

/** `act(action, id, token)` asks the server; `public`: only its owner may change a plan. */
export function mount(element, options) {
  const host = element.querySelector(".rs-comparison") ?? element;
  if (!host.rankscope) host.rankscope = new Tab(host, options);
}

/** The plan that is shown before one is chosen: one that trains, else one with a result. */
const first = (plans) => plans.find((plan) => plan.moving) ?? plans.find((plan) => plan.phase === "finished") ?? plans[0];

/** What the sections share: the report, and the metric and condition that they are about. */
class Tab {
  constructor(host, options) {
    Object.assign(this, { host, plans: [], turns: 0, id: null, report: null, part: null, metric: null, condition: {} });
    this.problem = new Problem();
    this.bar = new PlanBar({ ...options, open: (id) => this.open(id), left: () => this.poll.stop() });
    this.vacant = el("div", { class: "rs-stack rs-noplan", hidden: true }, el("p", { text: NONE }), el("p", {}, button("Make a sweep", () => window.rankscope?.sweep?.(""), "rs-primary")));
    this.hub = new HubOpening((id) => this.open(id));
    this.opened = []; // comparisons of the Hub, which the server does not list
    this.note = el("p", { class: "rs-note", hidden: true });
    this.parts = el("div", {});
    this.metricMenu = select((key) => this.about({ metric: this.part.metrics.find((metric) => metric.key === key) }));
    this.conditionMenu = select((place) => this.about({ condition: this.part.conditions[Number(place)] }));
    this.metricField = field("Metric", this.metricMenu);
    this.conditionField = field("Under", this.conditionMenu);
    this.sections = SECTIONS.map(({ make }) => make(this));
    this.body = el("div", { class: "rs-stack rs-planbody", hidden: true }, this.parts, this.note, ...this.sections.map((section) => section.node), el("p", { class: "rs-note", text: OTHERWISE }));
    this.opening = el("p", { class: "rs-note", role: "status", text: "Opening the comparison …" });
    host.replaceChildren(this.problem.node, this.vacant, this.bar.node, this.opening, this.body);
    this.poll = new Poll(() => this.ask(), (error) => this.showError(error), host);
    window.rankscopePlan = { seen: () => (host.offsetParent !== null ? (this.id ?? undefined) : undefined) };
    window.addEventListener("rankscope:wanted", () => this.wanted());
    window.addEventListener("rankscope:changed", () => this.changed());
    window.addEventListener("rankscope:tab", (event) => event.detail.name === "compare" && this.address());
    this.wanted();
    this.poll.start();
  }

  /** The plan that another part of the page asked for, if any. */
  wanted() {
    const { rankscopeWanted: id, rankscopeHub: name } = window;
    window.rankscopeWanted = window.rankscopeHub = null;
    if (id) this.open(id);
    if (name) this.hub.open(name);
  }

  open(id) {
    Object.assign(this, { id, report: null, revision: null, part: null });
    this.body.hidden = true;
    this.problem.say(null);
    this.address();
    this.refresh();
  }

  /** Something was done with a run: with a deletion the polls had stopped. What came of it is said until the plan moves on. */
  changed() {
    this.saidIn = null;
    this.poll.start();
    this.refresh();
  }

  /** Ask at once, for the list of plans too. */
  refresh() {
    this.turns = 0;
    this.poll.schedule(0);
  }

  /** The address leads to the plan that is shown. */
  address() {
    if (!this.id) return;
    const url = new URL(location.href);
    const { hub } = this.report ?? {};
    url.searchParams.set(hub ? COMPARISON : "run", hub ? hub.split("@")[0] : this.id);
    for (const key of ["k", "i", hub ? "run" : COMPARISON]) url.searchParams.delete(key);
    history.replaceState(history.state, "", url.href);
  }

  async ask() {
    if (this.turns % EVERY === 0) this.plans = [...(await api.plans()).plans, ...this.opened];
    this.turns += 1;
    this.vacant.hidden = this.plans.length > 0;
    const home = this.vacant.hidden ? this.bar.node : this.vacant;
    if (this.hub.node.parentNode !== home) home.append(this.hub.node);
    if (this.report && !this.plans.some((plan) => plan.id === this.id)) this.leave();
    this.id ??= first(this.plans)?.id ?? null;
    this.bar.list(this.plans, this.id);
    this.opening.hidden = this.id === null || Boolean(this.report);
    if (!this.id) return true;
    const { id } = this;
    const report = await api.plan(id);
    if (id !== this.id) return true;
    this.bar.show(report);
    this.saidIn ??= report.state.phase;
    document.getElementById("rs-compare-said").hidden = report.state.phase !== this.saidIn;
    window.dispatchEvent(new CustomEvent("rankscope:viewed", { detail: { ...report.state, id, recorded: report.recorded, told: report.recorded ? "" : report.state.words } }));
    if (report.hub) this.listOpened(report);
    if (report.revision !== this.revision) this.show(read(report));
    return report.state.moving;
  }

  /** A comparison of the Hub, among those to choose from. */
  listOpened({ id, title, hub }) {
    if (this.opened.some((plan) => plan.id === id)) return;
    const plan = { id, title, hub, phase: "finished" };
    this.opened.push(plan);
    this.plans.push(plan);
    this.bar.list(this.plans, id);
  }

  showError(error) {
    if (error) this.opening.hidden = true;
    this.problem.say(error && (error.status ? error.message : "Reconnecting: the server does not answer. Training goes on if only the connection is lost."));
    if (error?.status !== 404 || this.report) return;
    this.opened = this.opened.filter((plan) => plan.id !== this.id);
    this.leave(); // another one is shown at the next turn
    this.turns = 0;
  }

  /** The plan is gone. */
  leave() {
    this.bar.show(null);
    this.body.hidden = true;
    Object.assign(this, { id: null, report: null, revision: null });
  }

  show(report) {
    Object.assign(this, { report, revision: report.revision });
    if (report.hub) this.address();
    this.body.hidden = false;
    this.opening.hidden = true;
    this.part = report.parts.find((part) => part.name === this.part?.name) ?? report.parts[0];
    const names = report.parts.map((part) => part.name).join();
    if (names !== this.names) {
      this.names = names;
      const ways = report.parts.map((part) => [part.name, part.title]);
      this.parts.replaceChildren(...(ways.length > 1 ? [segments("Parts", ways, this.part.name, (name) => this.choose(name))] : []));
    }
    this.fill();
  }

  choose(name) {
    this.part = this.report.parts.find((part) => part.name === name);
    this.fill();
  }

  /** The menus of the part, then every section. */
  fill() {
    const { part } = this;
    const note = [part.note, this.report.state.moving ? PENDING : ""].filter(Boolean).join(" ");
    this.note.hidden = !note;
    say(this.note, note);
    this.metric = part.metrics.find((metric) => metric.key === this.metric?.key) ?? part.metrics[0] ?? null;
    const known = part.conditions.findIndex((condition) => named(condition) === named(this.condition));
    this.condition = part.conditions[Math.max(0, known)] ?? {};
    choose(this.metricMenu, part.metrics.map((metric) => ({ name: metric.key, title: metric.title })), this.metric?.key);
    choose(this.conditionMenu, part.conditions.map((condition, place) => ({ name: place, title: named(condition) })), Math.max(0, known));
    this.metricField.hidden = part.metrics.length < 2;
    this.conditionField.hidden = part.conditions.length < 2;
    for (const section of this.sections) section.show(part, this.report);
  }

  /** Another metric or condition. */
  about(change) {
    Object.assign(this, change);
    for (const section of this.sections) section.show(this.part, this.report);
  }
}
