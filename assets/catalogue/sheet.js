// Formulas are typeset by Gradio's Markdown, on a hidden sheet that takes one text at a time.

const PATIENCE = 10_000; // ms, after which a text is shown as it is

export class Sheet {
  /** `typeset()` makes Gradio put `window.rankscopeSheet` on the sheet in `parent`. */
  constructor(parent, typeset) {
    Object.assign(this, { parent, typeset, count: 0, turn: Promise.resolve() });
  }

  /** The nodes of a text in Markdown. */
  set(text) {
    this.turn = this.turn.then(() => this.next(text));
    return this.turn;
  }

  async next(text) {
    this.count += 1;
    const heading = `Text ${this.count}`;
    window.rankscopeSheet = `#### ${heading}\n\n${text}`;
    const drawn = new Promise((resolve) => {
      const look = () => {
        const top = this.parent.querySelector("#rs-sheet h4");
        if (top?.textContent.trim() === heading && !top.parentNode.textContent.includes("$")) done(top);
      };
      const done = (top) => {
        seen.disconnect();
        clearTimeout(late);
        resolve(top);
      };
      const seen = new MutationObserver(look);
      seen.observe(this.parent, { childList: true, subtree: true, characterData: true });
      const late = setTimeout(() => done(null), PATIENCE);
    });
    this.typeset();
    const top = await drawn;
    if (!top) return [document.createTextNode(text)];
    return [...top.parentNode.childNodes].filter((node) => node !== top).map((node) => node.cloneNode(true));
  }
}
