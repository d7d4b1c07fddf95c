// Work that the server may do in the background: what it does, how far it is, and a button to stop it.

import { ask, json, ServerError } from "./api.js";
import { el, say } from "./dom.js";
import { button } from "./fields.js";
import { capital } from "./names.js";

const EVERY = 400;
const FAILURES = 5; // looks without a reply before the page gives up, half a minute in all: each waits twice as long
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export class Task {
  /** `path`: the server's address of jobs, below which each has its own; `stopped`: said of work that was stopped. */
  constructor(path, stopped) {
    Object.assign(this, { path, stopped });
    this.said = el("p", { class: "rs-note", role: "status" });
    this.bar = el("progress", { class: "rs-progress", max: 1, value: 0, "aria-label": "Done so far" });
    this.end = button("Stop", () => this.stop());
    this.node = el("div", { class: "rs-flow rs-moving", hidden: true }, this.said, this.bar, this.end);
    this.id = null;
  }

  /** The answer that a reply of the server is, or will be. */
  async answer(reply) {
    if (!reply.job) return reply.answer;
    const id = (this.id = reply.job);
    this.end.disabled = false;
    this.bar.value = 0;
    try {
      return await this.follow(id);
    } finally {
      if (this.id === id) this.reset();
    }
  }

  async follow(id) {
    for (let failures = 0; this.goesOn(id); await pause(EVERY * 2 ** failures)) {
      let job;
      try {
        job = await json(this.address(id));
        failures = 0;
      } catch (error) {
        failures += 1;
        if (error.status || failures > FAILURES) throw error;
        continue;
      }
      if (job.phase === "done") return job.result;
      if (job.phase === "failed") throw new ServerError(job.error, 400);
      if (job.phase === "stopped") throw new ServerError(this.stopped, 400);
      if (this.id === id) this.show(job);
    }
    throw new ServerError(this.stopped, 0);
  }

  /** Whether somebody still wants to know of a job. */
  goesOn() {
    return true;
  }

  address(id) {
    return `${this.path}/${encodeURIComponent(id)}`;
  }

  show({ message, fraction }) {
    this.node.hidden = false;
    say(this.said, `${capital(message)} …`);
    this.bar.value = Math.max(this.bar.value, fraction);
  }

  /** Stop what is under way; its answer then is an error. */
  stop() {
    if (this.id === null) return;
    this.end.disabled = true;
    ask(`${this.address(this.id)}/stop`, {}).catch(() => {}); // done in the meantime
  }

  reset() {
    this.id = null;
    this.node.hidden = true;
  }
}
