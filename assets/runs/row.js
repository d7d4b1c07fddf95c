// A run in the table: a row with its numbers, and below it, when it is opened, its label and what can be done with it.

import * as api from "../common/api.js";
import { Deletion } from "../common/deletion.js";
import { el, figure, grouped, say, swatch, when } from "../common/dom.js";
import { DownloadFold } from "../common/downloads.js";
import { button, field, text } from "../common/fields.js";
import { brief, inFull } from "../common/names.js";
import { show, toLive } from "../common/navigation.js";

export class Row {
  constructor(list) {
    this.list = list;
    this.title = el("button", { type: "button", class: "rs-runtitle", onclick: () => this.open() });
    this.members = el("button", { type: "button", class: "rs-members", hidden: true, onclick: () => list.toggle(this.run.id) });
    this.tags = el("span", { class: "rs-flow rs-tags" });
    this.arms = el("ul", { class: "rs-runarms" });
    this.phase = el("span", { class: "rs-note rs-phase" });
    this.step = el("td", { "data-title": "Steps" });
    this.created = el("td", { class: "rs-note", "data-title": "Started" });
    this.error = el("p", { class: "rs-note rs-runtrouble" });
    this.openButton = button("Open", () => this.open());
    this.resume = button("Resume", () => this.ask("resume"));
    this.stop = button("Stop", () => this.ask("stop"));
    this.more = button("More", () => this.unfold(this.detail.hidden));
    this.deletion = new Deletion(() => this.ask("delete"));
    this.downloads = new DownloadFold();
    this.main = el("tr", {});
    this.wide = el("td", {}, this.label(), el("div", { class: "rs-flow rs-runacts" }, this.downloads.node, ...this.deletion.nodes), this.downloads.push.node);
    this.detail = el("tr", { class: "rs-rundetail", hidden: true }, this.wide);
    this.node = el("tbody", { class: "rs-runcard" }, this.main, this.detail);
  }

  /** Name, tags and note, for those who may change them. */
  label() {
    this.about = el("p", { class: "rs-note rs-runabout" });
    this.name = text("", { maxlength: 120 });
    this.tagged = text("comma between tags", { maxlength: 400 });
    this.note = el("textarea", { class: "rs-input", rows: 2, maxlength: 2000 });
    this.said = el("span", { class: "rs-note", role: "status" });
    this.form = el("form", { class: "rs-flow rs-runlabel" }, field("Name", this.name), field("Tags", this.tagged), field("Note", this.note), el("button", { class: "rs-act", text: "Save" }), this.said);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    return el("div", { class: "rs-stack rs-tight" }, this.about, this.form);
  }

  async save() {
    const label = { name: this.name.value, note: this.note.value, tags: this.tagged.value.split(",").map((tag) => tag.trim()).filter(Boolean) };
    try {
      await api.label(this.run.id, label);
      say(this.said, "Saved.");
      this.list.poll.schedule(0);
    } catch (error) {
      say(this.said, error.message);
    }
  }

  unfold(open) {
    this.detail.hidden = !open;
    this.more.setAttribute("aria-expanded", String(open));
    if (!open) return;
    this.name.value = this.run.name;
    this.tagged.value = this.run.tags.join(", ");
    this.note.value = this.run.note;
    say(this.said, "");
  }

  open() {
    if (this.run.plans) show(this.run.id);
    else toLive(this.run.id);
  }

  ask(action) {
    this.deletion.ask(false);
    this.list.act(action, this.run.id, api.token());
  }

  /** `within`: the runs of a plan; `columns`: those of numbers. */
  show(run, within, columns) {
    const open = this.list.opened.has(run.id);
    const known = JSON.stringify([run, within.length, columns.map(({ key }) => key), open]);
    if (known === this.known) return;
    Object.assign(this, { known, run });
    const title = run.name || run.title;
    say(this.title, brief(title, 120));
    this.title.title = inFull(run.name ? `${run.name}: ${run.title}` : run.title);
    this.node.classList.toggle("rs-member", Boolean(run.part_of));
    for (const [node, name] of [[this.openButton, "Open"], [this.resume, "Resume"], [this.stop, "Stop"], [this.more, "More"], [this.deletion.begin, "Delete"]]) node.setAttribute("aria-label", `${name}: ${brief(title, 160)}`);
    this.members.hidden = !within.length;
    this.members.setAttribute("aria-expanded", String(open));
    say(this.members, `${open ? "▾" : "▸"} ${within.length} ${within.length === 1 ? "run" : "runs"}`);
    this.tags.replaceChildren(...run.tags.map((tag) => el("span", { class: "rs-badge rs-note", text: tag })));
    this.arms.replaceChildren(...run.losses.map((loss, arm) => el("li", {}, swatch(arm), el("span", { class: "rs-armname", text: brief(loss, 60), title: inFull(loss) }))));
    say(this.phase, run.recorded ? "finished" : run.label);
    this.phase.dataset.phase = run.phase;
    const words = cells(run);
    say(this.step, words.step);
    say(this.created, words.created);
    say(this.error, run.error ?? "");
    this.error.hidden = !run.error;
    const name = el("th", { scope: "row" }, this.title, el("div", { class: "rs-flow" }, this.members, this.tags), this.error);
    const numbers = columns.map(({ key, title: heading }) => el("td", { "data-title": heading, class: run.headline.some((one) => one.key === key) ? "" : "rs-nonumber" }, ...this.stacked(key, words)));
    const acts = el("td", {}, el("div", { class: "rs-flow rs-rowacts" }, this.openButton, this.resume, this.stop, this.more));
    const focused = this.main.contains(document.activeElement) ? document.activeElement : null;
    this.main.replaceChildren(name, el("td", {}, this.arms), ...numbers, el("td", { "data-title": "State" }, this.phase, queue(run), kept(run)), this.step, this.created, acts);
    focused?.focus();
    this.wide.colSpan = this.main.cells.length;
    say(this.about, [brief(run.summary || run.data, 300), run.by_stage, run.note, size(run.bytes), run.read_only && !run.recorded ? "in a read-only place" : null].filter(Boolean).join(" · "));
    this.downloads.show(run);
    this.deletion.count(within.length);
    this.allow();
  }

  stacked(key, words) {
    const number = this.run.headline.find((one) => one.key === key);
    return (number?.values ?? []).map((value) => el("div", { class: "rs-number", text: words.number(value) }));
  }

  /** Only what the run's state and its owner allow is offered. */
  allow() {
    const { run } = this;
    const mine = !run.read_only && (!this.list.shared || run.mine === true);
    this.openButton.hidden = run.damaged;
    this.title.disabled = run.damaged;
    this.downloads.node.hidden = run.damaged || run.step === 0;
    this.resume.hidden = !mine || run.moving || !run.acts.includes("resume");
    this.stop.hidden = !mine || !run.acts.includes("stop");
    this.form.hidden = !mine || run.damaged;
    this.deletion.allow(mine && !run.moving);
  }
}

const queue = (run) => (run.queue_position ? el("span", { class: "rs-note", text: ` number ${run.queue_position} in the queue` }) : "");
/** What a restart of the page would leave of a run, where runs are copied. */
function kept({ kept: copy, plans }) {
  if (!copy) return "";
  const part = copy.step === null ? "not kept yet" : plans ? "kept in part" : `kept to step ${grouped(copy.step)}`;
  return el("span", { class: "rs-note rs-kept", text: copy.whole ? "kept" : part });
}

const size = (bytes) => (bytes > 1e6 ? `${(bytes / 1e6).toFixed(bytes > 1e7 ? 0 : 1)} MB` : `${Math.max(1, Math.round(bytes / 1e3))} kB`);
const cells = (run) => ({
  step: run.plans ? `${run.step} of ${run.planned_steps ?? "…"} runs` : run.step ? grouped(run.step) : "–",
  created: run.recorded ? "recorded" : when(run.created),
  number: (value) => (Number.isFinite(value) ? figure(value) : "–"),
});
