// Which runs are searched: the one that is open in Live, and up to three beside it.

import { pinned } from "../common/baseline.js";
import { el, origin, when } from "../common/dom.js";
import { choose, field, iconButton, select } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { placesOf, swatch } from "./places.js";

/** `on`: {open(id), add(id), remove(id)}. */
export class RunsBar {
  constructor(on) {
    this.on = on;
    this.list = el("ul", { class: "rs-flow rs-chips", "aria-label": "Runs beside it" });
    this.more = select((id) => id && this.on.add(id));
    this.field = field("Compare with", this.more, { class: "rs-field rs-addrun" });
    this.home = select((id) => this.on.open(id));
    this.node = el("div", { class: "rs-flow rs-runsbar" }, field("Run, with its images", this.home, { class: "rs-field rs-addrun" }), this.list, this.field);
  }

  /** `runs`: those shown, the open one first; `others`: those that can be added. */
  show(runs, others, most) {
    const places = placesOf(runs.filter((run) => !run.why));
    this.list.replaceChildren(...runs.slice(1).map((run) => this.chip(run, places.filter((place) => place.run === run.id))));
    this.list.hidden = runs.length < 2;
    const open = runs[0] && !others.some((run) => run.id === runs[0].id) ? [runs[0]] : [];
    choose(this.home, [...open, ...others].map((run) => ({ name: run.id, title: inMenu(run), disabled: Boolean(run.why) })), runs[0]?.id);
    const rest = others.filter((other) => !runs.some((run) => run.id === other.id));
    this.field.hidden = !rest.length || runs.length >= most;
    const choices = rest.map((run) => ({ name: run.id, title: inMenu(run), disabled: Boolean(run.why) }));
    choose(this.more, [{ name: "", title: "Add a run …" }, ...choices], "");
  }

  /** A run beside the open one, with the colours of its arms. */
  chip(run, places) {
    const title = brief(run.title, 120);
    const about = [run.recorded ? "recorded run" : run.created ? when(run.created) : "", pinned()?.run === run.id ? "baseline" : ""].filter(Boolean).join(", ");
    const name = el("span", { class: "rs-flow rs-chipname" }, ...places.map((place) => swatch(place.place)), el("span", { class: "rs-ellipsis", text: title, title: inFull(run.title) }));
    const away = iconButton("close", `Remove ${title}`, () => this.on.remove(run.id));
    return el("li", { class: "rs-flow rs-chip" }, name, el("span", { class: "rs-note", text: (places.length ? null : run.why) ?? about }), away);
  }
}

const inMenu = (run) => `${brief(run.title, 80)} (${origin(run)})`;
