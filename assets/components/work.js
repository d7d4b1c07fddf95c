// Work that the server does in the background: what it does, how far it is, and a button to stop it.

import { ask, json } from "../common/api.js";
import { el, say } from "../common/dom.js";
import { capital } from "../common/names.js";

const EVERY = 400;
const FAILURES = 5; // looks without a reply before it gives up, half a minute in all: each waits twice as long
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export function mount(element, { props, watch, ended }) {
  const work = new Work(element.querySelector(".rs-work"), props.path, ended);
  const follow = () => work.follow(props.value?.job ?? null);
  watch("value", follow);
  follow();
}

class Work {
  constructor(host, path, ended) {
    Object.assign(this, { host, path, ended, id: null });
    this.said = el("p", { class: "rs-note", role: "status" });
    this.bar = el("progress", { class: "rs-progress", max: 1, value: 0, "aria-label": "Done so far" });
    this.end = el("button", { type: "button", class: "rs-act", text: "Stop", onclick: () => this.stop() });
    this.node = el("div", { class: "rs-flow rs-moving", hidden: true }, this.said, this.bar, this.end);
    host.append(this.node);
  }

  address(id) {
    return `${this.path}/${encodeURIComponent(id)}`;
  }

  async follow(id) {
    if (id === this.id) return;
    this.id = id;
    this.node.hidden = true;
    this.bar.value = 0;
    this.end.disabled = false;
    for (let failures = 0; id !== null && this.id === id && this.host.isConnected; await pause(EVERY * 2 ** failures)) {
      let job;
      try {
        job = await json(this.address(id));
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!error.status && failures <= FAILURES) continue;
        job = { phase: "gone" };
      }
      if (this.id !== id) return;
      if (job.phase !== "waiting" && job.phase !== "running") return this.done(id);
      this.node.hidden = false;
      say(this.said, `${capital(job.message)} …`);
      this.bar.value = Math.max(this.bar.value, job.fraction);
    }
  }

  done(id) {
    this.id = null;
    this.node.hidden = true;
    this.ended(id);
  }

  stop() {
    this.end.disabled = true;
    ask(`${this.address(this.id)}/stop`, {}).catch(() => {}); // done in the meantime
  }
}
