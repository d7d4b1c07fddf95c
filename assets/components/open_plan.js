// Which comparison the tab shows: the one that another part of the page or the address asks for; what becomes of it.

import * as api from "../common/api.js";
import { el } from "../common/dom.js";
import { Problem } from "../common/fields.js";
import { COMPARISON } from "../common/navigation.js";
import { Poll } from "../common/poll.js";

const LOST = "Reconnecting: the server does not answer. Training goes on if only the connection is lost.";

/** `value()`: {id, hub} of the plan that is shown; `hub({name})`: one of the Hub is wanted; `moved()`: it has changed, or another one is wanted. */
export function mount(element, on) {
  const host = element.querySelector(".rs-openplan");
  if (!host.rankscope) host.rankscope = new OpenPlan(host, on);
}

class OpenPlan {
  constructor(host, on) {
    Object.assign(this, { on, id: null, revision: null });
    const problem = new Problem();
    host.replaceChildren(problem.node);
    this.poll = new Poll(() => this.ask(), (error) => problem.say(error && !error.status && LOST), host);
    window.rankscopePlan = { seen: () => (host.offsetParent !== null ? on.value()?.id : undefined), save: (file, asked) => this.save(file, asked) };
    window.addEventListener("rankscope:wanted", () => this.wanted());
    window.addEventListener("rankscope:changed", () => this.poll.seen && on.moved());
    window.addEventListener("rankscope:tab", ({ detail }) => {
      if (detail.name === "compare") this.address();
      setTimeout(() => this.poll.resume()); // an empty element crosses no edge of the window
    });
    on.watch(() => this.opened());
    this.poll.start();
    this.opened();
    this.wanted();
  }

  wanted() {
    const { rankscopeWanted: id, rankscopeHub: name } = window;
    window.rankscopeHub = null;
    if (name) this.on.hub({ name });
    else if (id) this.on.moved(); // which asks for that one
  }

  opened() {
    const id = this.on.value()?.id ?? null;
    if (id === this.id) return;
    Object.assign(this, { id, revision: null });
    this.address();
    this.poll.schedule(0);
  }

  /** The address leads to the plan that is shown. */
  address() {
    const { id, hub } = this.on.value() ?? {};
    if (!id) return;
    const url = new URL(location.href);
    url.searchParams.set(hub ? COMPARISON : "run", hub ? hub.split("@")[0] : id);
    for (const key of ["k", "i", hub ? "run" : COMPARISON]) url.searchParams.delete(key);
    history.replaceState(history.state, "", url.href);
  }

  /** Save what an address below that of the plan answers. */
  save(file, asked) {
    el("a", { href: `${api.base()}/plan/${this.id}/${file}?${new URLSearchParams(asked)}`, download: "" }).click();
    return [];
  }

  async ask() {
    const { id } = this;
    if (!id) return false;
    const plan = await api.plan(id).catch((error) => {
      if (error.status !== 404) throw error;
      this.on.moved(); // it is gone
      return null;
    });
    if (!plan || id !== this.id) return true;
    window.dispatchEvent(new CustomEvent("rankscope:viewed", { detail: { ...plan.state, id, recorded: plan.recorded, told: plan.recorded ? "" : plan.state.words } }));
    if (this.revision !== null && plan.revision !== this.revision) this.on.moved();
    this.revision = plan.revision;
    return plan.state.moving;
  }
}
