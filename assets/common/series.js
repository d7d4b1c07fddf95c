// The scalars of a run: grown by polls, thinned when long, read at a step.

const MOST = 3000;

export class Series {
  constructor() {
    this.all = new Map();
    this.starts = new Map();
    this.named = {};
  }

  /** Rows [arm, step, key, value] as the server sends them, and what it says of their keys: {name, title, unit, curve}. */
  add(rows, keys) {
    Object.assign(this.named, keys);
    for (const [arm, step, key, value] of rows) {
      if (value === null || !Number.isFinite(value)) continue;
      const line = this.line(key, arm);
      while (line.length && line.at(-1)[0] >= step) line.pop(); // resumed from an earlier checkpoint
      line.push([step, value]);
      if (step === 0) this.starts.set(`${arm} ${key}`, value);
      if (line.length > MOST) thin(line);
    }
  }

  line(key, arm) {
    if (!this.all.has(key)) this.all.set(key, []);
    const arms = this.all.get(key);
    while (arms.length <= arm) arms.push([]);
    return arms[arm];
  }

  get keys() {
    return [...this.all.keys()];
  }

  arms(key) {
    return this.all.get(key) ?? [];
  }

  /** The value known at `step`: the last one not later than it; null when there is none. */
  at(key, arm, step) {
    return this.point(key, arm, step)?.[1] ?? null;
  }

  /** The same with its own step: [step, value], or null. */
  point(key, arm, step) {
    const line = this.all.get(key)?.[arm];
    if (!line?.length) return null;
    let [low, high] = [0, line.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (line[middle][0] <= step) low = middle + 1;
      else high = middle;
    }
    return low ? line[low - 1] : null;
  }

  /** The value before the first step, also of a line that was thinned; undefined when there is none. */
  start(key, arm) {
    return this.starts.get(`${arm} ${key}`);
  }

  /** The value of a line at `step`, between two steps on the line between them: [step, value]. After its end its last one,
   * before its begin null. */
  between(key, arm, step) {
    const before = this.point(key, arm, step);
    if (!before || before[0] === step) return before;
    const line = this.all.get(key)[arm];
    const after = line[line.indexOf(before) + 1];
    if (!after) return before;
    return [step, before[1] + ((step - before[0]) / (after[0] - before[0])) * (after[1] - before[1])];
  }

  lastStep() {
    let last = 0;
    for (const arms of this.all.values()) for (const line of arms) last = Math.max(last, line.at(-1)?.[0] ?? 0);
    return last;
  }
}

/** Average pairs of the older half; the newest values stay exact. */
function thin(line) {
  const half = line.length >> 1;
  const kept = [];
  for (let i = 0; i + 1 < half; i += 2) kept.push([line[i + 1][0], (line[i][1] + line[i + 1][1]) / 2]);
  line.splice(0, half - (half % 2), ...kept);
}
