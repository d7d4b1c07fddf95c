// Progress of models that encode a dataset's captions in the background, so that later queries are answered at once.

import { el, say } from "../common/dom.js";
import * as api from "./api.js";
import { Poll } from "../common/poll.js";

const BEFORE = "This result was computed beforehand.";
const DONE = "All captions are read: your own queries are answered at once.";

/** `titles(names)`: titles of models. The work goes on while the page is hidden. */
export class Reading {
  constructor(titles) {
    this.titles = titles;
    this.said = el("p", { class: "rs-note", role: "status" });
    this.bar = el("progress", { class: "rs-progress", max: 1, value: 0, "aria-label": "Captions read so far" });
    this.node = el("div", { class: "rs-stack rs-background", hidden: true }, this.said, this.bar);
    this.poll = new Poll(() => this.ask(), (error) => error && say(this.said, error.message), this.node);
  }

  /** Have a dataset's captions read by models, after an answer that needed none of it. */
  begin(dataset, models) {
    this.poll.stop();
    Object.assign(this, { dataset, models, begun: false });
    this.node.hidden = false;
    this.bar.hidden = false;
    this.bar.value = 0;
    say(this.said, `${BEFORE} The models are being loaded for your own queries …`);
    this.poll.start();
  }

  /** Another query shows the progress of its own models. */
  hide() {
    this.poll.stop();
    this.node.hidden = true;
  }

  async ask() {
    const all = this.begun ? await api.encoding() : await api.encode(this.dataset, this.models);
    this.begun = true;
    const going = all.encoding.filter((job) => job.dataset === this.dataset && this.models.includes(job.model));
    if (!going.length) this.end();
    else this.show(going);
    return true;
  }

  show(going) {
    const left = going.reduce((sum, job) => sum + 1 - job.fraction, 0);
    this.bar.value = Math.max(this.bar.value, 1 - left / this.models.length);
    const same = new Set(going.map((job) => job.message)).size === 1;
    const said = same ? `${this.titles(going.map((job) => job.model)).join(" and ")}: ${going[0].message}` : going.map((job) => `${this.titles([job.model])}: ${job.message}`).join("; ");
    say(this.said, `${BEFORE} Getting ready for your own queries: ${said}.`);
  }

  end() {
    this.poll.stop();
    this.bar.hidden = true;
    say(this.said, DONE);
  }
}
