// Steps that can be taken back and made again: of values that are never changed.

const MOST = 200;

export class Undo {
  constructor(value) {
    this.past = [];
    this.now = value;
    this.future = [];
  }

  /** Make a step; `words` say what it does. */
  step(value, words) {
    this.past = [...this.past, { value: this.now, words }].slice(-MOST);
    this.now = value;
    this.future = [];
  }

  /** Take the last step back; its words, or null if there is none. */
  undo() {
    const last = this.past.pop();
    if (!last) return null;
    this.future.push({ value: this.now, words: last.words });
    this.now = last.value;
    return last.words;
  }

  redo() {
    const next = this.future.pop();
    if (!next) return null;
    this.past.push({ value: this.now, words: next.words });
    this.now = next.value;
    return next.words;
  }
}
