// Which runs are searched: the one that is open in Live, and up to three beside it.

import { pinned } from "../common/baseline.js";
import { el, origin, when } from "../common/dom.js";
import { choose, field, iconButton, select } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { placesOf, swatch } from "./places.js";

/** `on`: {add(id), remove(id)}. */
export class RunsBar {
  constructor(on) {
    this.on = on;
    this.list = el("ul", { class: "rs-flow rs-chips", "aria-label": "Runs that are searched" });
    this.more = select((id) => id && this.on.add(id));
    this.field = field("Compare with", this.more, { class: "rs-field rs-addrun" });
    this.node = el("div", { class: "rs-flow rs-runsbar" }, this.list, this.field);
  }

  /** `runs`: those shown, the open one first; `others`: those that can be added. */
  show(runs, others, most) {
    const places = placesOf(runs.filter((run) => !run.why));
    this.list.replaceChildren(...runs.map((run, at) => this.chip(run, places.filter((one) => one.run === run.id), at)));
    const rest = others.filter((one) => !runs.some((run) => run.id === one.id));
    this.field.hidden = !rest.length || runs.length >= most;
    const choices = rest.map((run) => ({ name: run.id, title: `${brief(run.title, 80)} (${origin(run)})`, disabled: Boolean(run.why) }));
    choose(this.more, [{ name: "", title: "Add a run …" }, ...choices], "");
  }

  chip(run, places, at) {
    const title = brief(run.title, 120);
    const note = (places.length || !at ? null : run.why) ?? [run.recorded ? "recorded run" : run.created ? when(run.created) : "", at === 0 ? "open in Live" : "", at > 0 && pinned()?.run === run.id ? "baseline" : ""].filter(Boolean).join(", ");
    const name = el("span", { class: "rs-flow rs-chipname" }, ...places.map((one) => swatch(one.place)), el("span", { class: "rs-ellipsis", text: title, title: inFull(run.title) }));
    const parts = [name, el("span", { class: "rs-note", text: note })];
    const away = at === 0 ? null : iconButton("close", `Remove ${title}`, () => this.on.remove(run.id));
    return el("li", { class: "rs-flow rs-chip" }, ...parts, away);
  }
}
