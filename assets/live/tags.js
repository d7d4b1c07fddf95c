// Named selections of a run's images, kept in the browser.

import { store, stored } from "../common/storage.js";

const KEY = "rankscope-tags";
const MOST_RUNS = 40;
const MOST_TAGS = 20;

/** The tags of a run: {name: points}. Where the browser keeps nothing, they last as long as the page. */
export class Tags {
  constructor() {
    this.runs = read();
  }

  of(run) {
    return this.runs[run] ?? {};
  }

  /** Give a selection a name; a selection that had it is replaced. */
  set(run, name, points) {
    const { [name]: _before, ...others } = this.of(run);
    this.keep(run, Object.fromEntries([...Object.entries(others).slice(1 - MOST_TAGS), [name, points]]));
  }

  remove(run, name) {
    const { [name]: _gone, ...others } = this.of(run);
    this.keep(run, others);
  }

  /** The names that an image has. */
  on(run, point) {
    return Object.entries(this.of(run)).filter(([, points]) => points.includes(point)).map(([name]) => name);
  }

  keep(run, tags) {
    const { [run]: _before, ...others } = this.runs;
    const entries = Object.entries(others).slice(1 - MOST_RUNS);
    this.runs = Object.fromEntries(Object.keys(tags).length ? [...entries, [run, tags]] : entries);
    store(KEY, JSON.stringify(this.runs));
  }
}

function read() {
  try {
    const held = JSON.parse(stored(KEY) ?? "{}");
    const whole = (points) => Array.isArray(points) && points.every((point) => Number.isInteger(point) && point >= 0);
    const sound = (tags) => tags && typeof tags === "object" && Object.values(tags).every(whole);
    return Object.fromEntries(Object.entries(held ?? {}).filter(([, tags]) => sound(tags)));
  } catch {
    return {};
  }
}
