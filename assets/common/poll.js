// Polls the server: every second while a run is active, every five seconds otherwise, never while the page is hidden.

const BUSY = 1000;
const QUIET = 5000;
const WAITS = [1, 2, 4];

/** `ask()` returns true while the run is active. `trouble(error)` reports a failed request, `trouble(null)` the next success. */
export class Poll {
  constructor(ask, trouble, watched) {
    this.ask = ask;
    this.trouble = trouble;
    this.watched = watched;
    this.failures = 0;
    this.timer = null;
    this.running = false;
    document.addEventListener("visibilitychange", () => this.wake());
    new IntersectionObserver(() => this.wake()).observe(watched);
  }

  get seen() {
    return document.visibilityState === "visible" && this.watched.offsetParent !== null;
  }

  start() {
    this.running = true;
    this.failures = 0;
    this.again(0);
  }

  stop() {
    this.running = false;
    clearTimeout(this.timer);
    this.timer = null;
  }

  /** The page is visible again: ask at once. */
  wake() {
    if (this.running && this.seen && this.timer === null && !this.asking) this.again(0);
  }

  again(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.turn(), wait);
  }

  async turn() {
    this.timer = null;
    if (!this.running || !this.seen) return; // wake() starts the next turn
    this.asking = true;
    let wait = QUIET;
    try {
      const moving = await this.ask();
      wait = moving ? BUSY : QUIET;
      if (this.failures) this.trouble(null);
      this.failures = 0;
    } catch (error) {
      wait = BUSY * WAITS[Math.min(this.failures, WAITS.length - 1)];
      this.failures += 1;
      this.trouble(error);
    }
    this.asking = false;
    if (this.running && this.timer === null) this.again(wait);
  }
}
