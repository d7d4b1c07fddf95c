// Polls the server: every second while a run is active, every five seconds otherwise, never while the page is hidden.

const BUSY = 1000;
const QUIET = 5000;
const WAITS = [1, 2, 4];

/** `request()` returns true while the run is active. `onError(error)` reports a failed request, `onError(null)` the next success. */
export class Poll {
  constructor(request, onError, watched) {
    this.request = request;
    this.onError = onError;
    this.watched = watched;
    this.failures = 0;
    this.timer = null;
    this.running = false;
    document.addEventListener("visibilitychange", () => this.resume());
    new IntersectionObserver(() => this.resume()).observe(watched);
  }

  get seen() {
    return document.visibilityState === "visible" && this.watched.offsetParent !== null;
  }

  start() {
    this.running = true;
    this.failures = 0;
    this.schedule(0);
  }

  stop() {
    this.running = false;
    clearTimeout(this.timer);
    this.timer = null;
  }

  /** The page is visible again: ask at once. */
  resume() {
    if (this.running && this.seen && this.timer === null && !this.asking) this.schedule(0);
  }

  schedule(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), wait);
  }

  async run() {
    this.timer = null;
    if (!this.running || !this.seen) return; // resume() starts the next one
    this.asking = true;
    let wait = QUIET;
    try {
      const moving = await this.request();
      wait = moving ? BUSY : QUIET;
      if (this.failures) this.onError(null);
      this.failures = 0;
    } catch (error) {
      wait = BUSY * WAITS[Math.min(this.failures, WAITS.length - 1)];
      this.failures += 1;
      this.onError(error);
    }
    this.asking = false;
    if (this.running && this.timer === null) this.schedule(wait);
  }
}
