// Under the tabs: what of the visitor's trains, waits or was interrupted, and what can be done with it.

import { json, post, token } from "../common/api.js";
import { el, figure, say } from "../common/dom.js";
import { button, iconButton, Problem } from "../common/fields.js";
import { brief, capital, inFull } from "../common/names.js";
import { show } from "../common/navigation.js";
import { Poll } from "../common/poll.js";
import { sentence } from "../common/status.js";
import { store, stored } from "../common/storage.js";

const ACTS = ["pause", "resume", "stop"];
const CLOSED = "rankscope-closed"; // ids of interrupted runs that nobody wants to hear of again
const KEPT = 100;

export function mount(element) {
  const host = element.querySelector(".rs-training");
  document.querySelector("#rs-tabs > .tab-wrapper")?.after(host);
  if (!host.rankscope) host.rankscope = new Training(host);
}

class Training {
  constructor(host) {
    this.rows = new Map();
    this.list = el("ul", { class: "rs-stack rs-tight", "aria-label": "Your training" });
    this.more = el("p", { class: "rs-note" });
    this.problem = new Problem();
    host.replaceChildren(this.list, this.more, this.problem.node);
    this.poll = new Poll(() => this.ask(), () => {}, host); // a server that does not answer is told of elsewhere
    for (const name of ["rankscope:viewed", "rankscope:changed", "rankscope:tab"]) window.addEventListener(name, () => this.look());
    window.addEventListener("rankscope:state", ({ detail: { id, phase } }) => {
      if (this.seen !== `${id} ${phase}`) this.look();
      this.seen = `${id} ${phase}`;
    });
    this.poll.start();
  }

  look() {
    this.poll.schedule(0);
  }

  async ask() {
    const viewed = window.rankscope?.viewed() ?? "";
    const { runs, more } = await json(`training?${new URLSearchParams({ viewed })}`, { headers: { "x-rankscope-token": token() } });
    const closed = stored(CLOSED) ?? "";
    const shown = runs.filter(({ id, moving }) => moving || id === viewed || !closed.includes(id));
    for (const id of this.rows.keys()) if (!shown.some((run) => run.id === id)) this.rows.delete(id);
    const at = document.activeElement;
    const nodes = shown.map((run) => {
      if (!this.rows.has(run.id)) this.rows.set(run.id, new Row(run.id, this));
      return this.rows.get(run.id).show(run, viewed);
    });
    if (nodes.length !== this.list.children.length || nodes.some((node, i) => node !== this.list.children[i])) this.list.replaceChildren(...nodes);
    for (const row of this.rows.values()) row.hold(row.node.contains(at) ? at : null);
    this.more.hidden = !more;
    say(this.more, more ? `and ${more} more in the tab Runs` : "");
    return runs.some((run) => run.moving);
  }

  async act(action, id) {
    this.problem.say(null);
    try {
      const { problem } = await post("training/act", { id, action });
      this.problem.say(problem);
      window.dispatchEvent(new CustomEvent("rankscope:changed"));
    } catch (error) {
      this.problem.say(error.message);
    }
  }

  close(id) {
    store(CLOSED, [...(stored(CLOSED) ?? "").split(" "), id].slice(-KEPT).join(" "));
    this.look();
  }
}

class Row {
  constructor(id, on) {
    this.open = button("Open", () => show(id));
    this.acts = Object.fromEntries(ACTS.map((act) => [act, button(capital(act), () => on.act(act, id))]));
    this.shut = iconButton("close", "Hide this run", () => on.close(id));
    this.title = el("strong", { class: "rs-ellipsis" });
    this.words = el("span", { class: "rs-runstatus", role: "status" });
    this.number = el("span", { class: "rs-note rs-newest" });
    this.bar = el("progress", { class: "rs-progress", "aria-hidden": "true" });
    const said = el("div", { class: "rs-trainingwords" }, this.title, this.words, this.number);
    this.node = el("li", { class: "rs-trainingrow" }, said, el("div", { class: "rs-flow rs-tight" }, ...Object.values(this.acts), this.open, this.shut), this.bar);
  }

  show(run, viewed) {
    const { acts, moving, begun, step, planned_steps: planned, number } = run;
    say(this.title, brief(run.title, 80));
    this.title.title = inFull(run.title);
    say(this.words, run.plans && begun && moving && run.message ? `${capital(run.message)}.` : sentence(run));
    say(this.number, number ? `${number.title} ${number.values.map(figure).join(", ")}` : "");
    for (const act of ACTS) this.acts[act].hidden = !acts.includes(act);
    this.open.hidden = run.id === viewed;
    this.shut.hidden = moving || run.id === viewed;
    this.bar.hidden = !moving || !begun || !planned;
    this.bar.max = planned || 1;
    this.bar.value = step;
    this.node.dataset.run = run.id;
    return this.node;
  }

  /** `had`: what had the focus here. The keyboard goes on there, or at what took its place, which may take a while to come. */
  hold(had) {
    const at = document.activeElement;
    if (had ? had === at && !had.hidden : !this.lost || at !== document.body) return;
    const next = [had, ...Object.values(this.acts), this.open].find((press) => press && !press.hidden);
    this.lost = !next;
    next?.focus({ preventScroll: true });
  }
}
