// A dataset that is being opened: what is read at the moment, how far it is, and a button to cancel.

import { randomHex } from "../common/api.js";
import { el, say } from "../common/dom.js";
import * as api from "./api.js";
import { button } from "../common/fields.js";
import { capital } from "../common/names.js";

const EVERY = 500;

export class Waiting {
  constructor() {
    this.said = el("p", { class: "rs-note" });
    this.bar = el("progress", { class: "rs-progress", max: 1, value: 0, "aria-label": "Read so far" });
    this.stop = button("Cancel", () => this.cancel());
    this.node = el("div", { class: "rs-flow rs-moving", hidden: true }, this.said, this.bar, this.stop);
  }

  /** The server's reply once the dataset is read. */
  async open(source, captions) {
    this.ticket = randomHex();
    this.node.hidden = false;
    this.stop.disabled = false;
    this.bar.value = 0;
    say(this.said, "Opening the dataset …");
    const follow = setInterval(() => this.read(), EVERY);
    try {
      return await api.open(source, captions, this.ticket);
    } finally {
      clearInterval(follow);
      this.node.hidden = true;
    }
  }

  async read() {
    if (this.stop.disabled) return this.leaveQueue(); // what had not begun when it was cancelled may have by now
    const { message, fraction } = await api.opening(this.ticket).catch(() => ({}));
    if (!message || this.stop.disabled) return undefined;
    say(this.said, `${capital(message)} …`);
    this.bar.value = Math.max(this.bar.value, fraction); // parts of the work count from 0 each
    return undefined;
  }

  cancel() {
    this.stop.disabled = true;
    say(this.said, "Cancelling …");
    this.leaveQueue();
  }

  leaveQueue() {
    return api.leave(this.ticket).catch(() => {}); // read in the meantime: the dataset opens
  }
}
