// Requests of which only the newest counts.

const PAUSE = 60; // ms: several changes of one gesture make one query

/** At most one query is under way; while it is, only the newest of those that follow is kept. */
export class Newest {
  /** `work(query)` returns a promise; `done(reply, query)` and `failed(error, query)` are called for the newest alone. */
  constructor(work, done, failed) {
    Object.assign(this, { work, done, failed, next: null, running: false });
  }

  request(query) {
    this.next = query;
    clearTimeout(this.timer);
    if (!this.running) this.timer = setTimeout(() => this.run(), PAUSE);
  }

  async run() {
    const query = (this.current = this.next);
    this.next = null;
    this.running = true;
    const fresh = () => this.next === null && this.current === query;
    try {
      const reply = await this.work(query);
      if (fresh()) this.done(reply, query);
    } catch (error) {
      if (fresh()) this.failed(error, query);
    } finally {
      this.running = false;
      if (this.next !== null) this.run();
    }
  }
}
