// Pushing a run to the Hub in one's own name: an item for a menu of downloads, and the panel that it opens.

import { json, post, root } from "./api.js";
import { el, say } from "./dom.js";
import { checkbox, choose, field, iconButton, Problem, rowForm, select, text } from "./fields.js";
import { brief } from "./names.js";
import { COMPARISON } from "./navigation.js";
import { Task } from "./task.js";

const STOPPED = "It was stopped, and nothing was committed.";
const MODEL = "Uploads an encoder with the settings of its run, its final numbers and a card.";
const DATASET = "Uploads tables, curves and results per query with a card, as a dataset that this page opens. No images and no weights.";

/** Whether there is anything of a run that can be pushed. */
const pushable = ({ downloads }) => "models.zip" in downloads || "report.json" in downloads;

export class HubPush {
  constructor() {
    this.item = el("li", {}, el("button", { type: "button", text: "Push to the Hub", onclick: () => this.open() }));
    this.node = el("section", { class: "rs-panel rs-stack rs-tight rs-hubpush", "aria-label": "Push to the Hub", hidden: true });
    this.node.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  /** A run or a plan; what was begun with another one goes on, unseen. */
  show(run) {
    this.item.hidden = !pushable(run);
    if (run.id !== this.run?.id) this.node.hidden = true;
    this.run = run;
  }

  build() {
    const { run } = this;
    const arms = run.arms?.map((arm) => arm.title) ?? run.losses ?? [];
    this.dataset = "report.json" in run.downloads;
    this.built = run.id;
    this.name = text("owner/name", { "aria-label": "Repository", autocapitalize: "off" });
    this.arm = select(() => {});
    choose(this.arm, arms.map((title, arm) => ({ name: arm, title: brief(title, 80) })), 0);
    this.private = checkbox("Private: only you see it", true);
    this.task = new Task("hub/job", STOPPED);
    this.problem = new Problem();
    this.who = el("p", { class: "rs-note" });
    this.done = el("p", { role: "status" });
    const close = iconButton("close", "Close", () => this.close());
    const head = el("div", { class: "rs-flow rs-hubpushhead" }, el("h3", { text: "Push to the Hub" }), close);
    const which = this.dataset || arms.length < 2 ? [] : [field("Encoder", this.arm)];
    this.form = rowForm([...which, field("Repository", this.name)], "Push", () => this.push());
    this.form.lastChild.classList.add("rs-primary");
    this.node.replaceChildren(head, el("p", { class: "rs-note", text: this.dataset ? DATASET : MODEL }), this.who, this.form, this.private.node, this.task.node, this.problem.node, this.done);
  }

  async open() {
    if (this.built !== this.run.id) this.build();
    this.node.hidden = false;
    this.node.scrollIntoView({ block: "nearest" });
    this.node.querySelector("button").focus(); // a phone shows no keyboard yet
    try {
      const { can, name, todo } = await json("hub/about");
      say(this.who, can ? (name ? `In your name, ${name}; your login is used for this alone and kept nowhere.` : "With the login of this machine.") : `The Hub takes uploads from those who are logged in. ${todo}`);
      this.form.hidden = this.private.node.hidden = !can;
      if (name && !this.name.value) this.name.value = `${name}/`;
      if (can) this.name.focus();
    } catch (error) {
      this.problem.say(error.message);
    }
  }

  close() {
    this.node.hidden = true;
  }

  async push() {
    const [button] = this.form.querySelectorAll("button");
    const to = this.name.value.trim();
    this.problem.say(null);
    say(this.done, "");
    button.disabled = true;
    try {
      const asked = { run: this.built, to, private: this.private.input.checked, arm: Number(this.arm.value || 0) };
      const { url } = await this.task.answer(await post("hub/push", asked));
      this.done.replaceChildren("Pushed: ", el("a", { class: "rs-textlink", href: url, target: "_blank", rel: "noopener", text: to }), ...this.link(to));
    } catch (error) {
      this.problem.say(error.message);
    } finally {
      button.disabled = false;
    }
  }

  /** The link with which a comparison opens here. */
  link(to) {
    if (!this.dataset) return ["."];
    const open = el("a", { class: "rs-textlink", href: `${root()}/?${COMPARISON}=${to}`, text: "open it here" });
    return [". With this link others ", open, this.private.input.checked ? ", once you make it public." : "."];
  }
}
