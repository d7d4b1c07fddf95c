// Work that the server does in the background, whose id it gives; how it ended is the server's to say.

import { Task } from "../common/task.js";

export function mount(element, { value, watch, path, ended }) {
  const work = new Work(element.querySelector(".rs-work"), path, ended);
  const follow = () => work.attend(value()?.job ?? null);
  watch(follow);
  follow();
}

class Work extends Task {
  constructor(host, path, ended) {
    super(path, "");
    Object.assign(this, { host, ended, attended: null });
    host.replaceChildren(this.node);
  }

  goesOn(id) {
    return this.attended === id && this.host.isConnected;
  }

  async attend(id) {
    if (id === this.attended) return;
    this.attended = id;
    this.reset();
    if (id === null) return;
    await this.answer({ job: id }).catch(() => {});
    if (!this.goesOn(id)) return;
    this.attended = null;
    this.ended(id);
  }
}
