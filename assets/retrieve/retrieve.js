// The tab "Retrieve": the runs that are compared, and the sections about them. Mounted once.

import * as server from "../common/api.js";
import { onPin, pin, pinned } from "../common/baseline.js";
import { el, say } from "../common/dom.js";
import { Problem, segments } from "../common/fields.js";
import { Poll } from "../common/poll.js";
import * as api from "./api.js";
import { LOOKED_AT } from "./looked_at.js";
import { MISTAKES } from "./mistakes.js";
import { QUERY } from "./query.js";
import { RunsBar } from "./runs_bar.js";

/** Each a descriptor {name, title, make(tab)}. It returns {node, load(), look(), repin()}: `load` is called when other runs are
 * shown (see `runs` and `home`), `look` when it comes into sight, and `repin`, if it has one, when another baseline is pinned. */
const SECTIONS = [QUERY, MISTAKES, LOOKED_AT];
const WITH = "with";
const EMPTY = "No run yet. Choose images and losses in the sidebar, then press Train: its images can be searched a few seconds later.";

export function mount(element) {
  const host = element.querySelector(".rs-retrieve") ?? element;
  if (!host.rankscope) host.rankscope = new Tab(host);
}

/** What the sections share: the runs, the first of them that can be searched (`home`), and the start of the server. */
class Tab {
  constructor(host) {
    Object.assign(this, { host, runs: [], home: null, about: null, given: null, handed: null });
    this.extra = (new URLSearchParams(location.search).get(WITH) ?? "").split(",").filter((id) => /^\w+$/.test(id));
    this.problem = new Problem();
    this.bar = new RunsBar({ open: (id) => window.rankscope.open(id), add: (id) => this.compare([...this.extra, id]), remove: (id) => this.remove(id) });
    this.vacant = el("p", { class: "rs-vacant", hidden: true });
    this.sections = SECTIONS.map(({ name, title, make }) => ({ name, title, view: make(this) }));
    this.shown = this.sections[0];
    const ways = this.sections.map(({ name, title }) => [name, title]);
    this.choice = segments("What to look at", ways, this.shown.name, (name) => this.section(name));
    this.choice.hidden = ways.length < 2;
    this.body = el("div", { class: "rs-sections" }, ...this.sections.map((section) => section.view.node));
    host.replaceChildren(this.choice, this.bar.node, this.problem.node, this.vacant, this.body);
    this.section(this.shown.name, false);
    window.addEventListener("rankscope:state", (event) => event.detail.id !== this.open && this.follow(event.detail.id));
    onPin(() => this.updatePins());
    window.addEventListener("rankscope:query", (event) => this.searchFor(event.detail));
    window.addEventListener("rankscope:selected", () => this.given && this.selected());
    this.poll = new Poll(() => this.ask(), (error) => error && !error.status && this.problem.say(error.message), host);
    this.begin();
  }

  async begin() {
    try {
      this.given = await api.start();
    } catch (error) {
      this.problem.say(error.message);
      setTimeout(() => this.begin(), 4000);
      return;
    }
    const live = window.rankscope?.live;
    if (live && live.images.chosen !== null && live.run) this.handed = { run: live.run.id, row: live.images.chosen };
    await this.follow(window.rankscope?.current() ?? "");
    this.selected();
    this.poll.start();
  }

  section(name, look = true) {
    this.shown = this.sections.find((section) => section.name === name);
    for (const section of this.sections) section.view.node.hidden = section !== this.shown;
    if (look) this.shown.view.refresh();
  }

  /** The run that is open in Live is another one. */
  async follow(id) {
    this.open = id;
    if (this.given) await this.load();
  }

  compare(ids) {
    this.extra = [...new Set(ids)].slice(0, this.given.most_runs - 1);
    const url = new URL(location.href);
    if (this.extra.length) url.searchParams.set(WITH, this.extra.join(","));
    else url.searchParams.delete(WITH);
    history.replaceState(history.state, "", url.href);
    return this.load();
  }

  remove(id) {
    const rest = this.extra.filter((added) => added !== id);
    if (pinned()?.run !== id) return this.compare(rest);
    this.extra = rest;
    pin(null);
    return this.compare(rest);
  }

  /** The open run, those beside it, and the baseline. */
  get ids() {
    return [...new Set([this.open, ...this.extra, pinned()?.run])].filter(Boolean).slice(0, this.given.most_runs);
  }

  updatePins() {
    if (!this.given) return;
    if (JSON.stringify(this.ids) !== JSON.stringify(this.runs.map((run) => run.id)) || !this.others) this.load();
    else {
      this.bar.show(this.runs, this.others, this.given.most_runs);
      for (const { view } of this.sections) view.updatePins?.();
    }
  }

  /** Read what is known of the runs, and have the sections show them. */
  async load() {
    const turn = (this.turn = {});
    const { ids } = this;
    const [runs, others] = await Promise.all([Promise.all(ids.map(known)), api.runs().catch(() => [])]);
    if (turn !== this.turn) return;
    this.runs = runs;
    this.others = others;
    this.bar.show(runs, others, this.given.most_runs);
    const home = this.usable[0] ?? null;
    const same = home && home.id === this.home?.id;
    try {
      if (home && !(same && this.about.points)) this.about = await server.run(home.id);
      this.problem.say(null);
    } catch (error) {
      this.problem.say(error.message);
    }
    if (turn !== this.turn) return;
    this.home = home;
    this.body.hidden = !home;
    this.vacant.hidden = home !== null;
    say(this.vacant, ids.length ? `${runs[0].why} Choose another run above.` : EMPTY);
    if (home) for (const section of this.sections) section.view.load(!same);
  }

  /** The runs that can be searched. */
  get usable() {
    return this.runs.filter((run) => !run.why);
  }

  /** A turn of the poll: runs that begin, go on, and are deleted while the page looks at them. */
  async ask() {
    if (!this.open && window.rankscope?.current()) await this.follow(window.rankscope.current());
    const again = await Promise.all(this.runs.map((run) => known(run.id)));
    const before = JSON.stringify(this.runs.map(signature));
    if (again.length === this.runs.length && before !== JSON.stringify(again.map(signature))) await this.load();
    return false;
  }

  /** Search with an image of the open run, in the section Query: {row, step} of the maps, or {row, gallery}. */
  search(query) {
    const [{ name }] = this.sections;
    this.choice.value = name;
    this.handed = { run: this.home.id, ...query };
    this.section(name);
    this.choice.querySelector("input:checked").focus();
    this.host.scrollIntoView({ block: "start" });
  }

  /** Images were selected in Live for one of the sections. */
  selected() {
    const selection = window.rankscopeSelected;
    if (!selection) return;
    delete window.rankscopeSelected;
    const { name, view } = this.sections.find((section) => section.name === selection.section);
    view.select(selection);
    this.choice.value = name;
    this.section(name);
  }

  /** An image was chosen in Live. */
  searchFor(query) {
    this.handed = query;
    this.sections[0].view.refresh();
  }
}

/** A run, or what is said in its place if it cannot be read. */
const known = (id) => api.run(id).catch((error) => {
  if (!error.status) throw error;
  return { id, title: `Run ${id}`, arms: [], steps: [], points: 0, created: 0, why: error.message };
});

const signature = (run) => [run.id, run.why, run.steps.length, run.weights];
