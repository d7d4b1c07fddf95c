// A caption word by word: words of present classes, words of removed ones, and the verdict in front of it.

import { el } from "../common/dom.js";

/** What each verdict of the server looks like: its mark, its colour's name and its words. */
const VERDICTS = {
  correct: ["✓", "same", "fits the image"],
  fits: ["✓", "same", "fits the image"],
  "names removed": ["✕", "none", "names what was removed"],
  "names nothing present": ["–", "near", "names nothing that is there"],
  unknown: ["", "near", "what else is there nobody has said"],
};

export function verdict(name) {
  const [mark, kind, words] = VERDICTS[name] ?? ["?", "near", name];
  return el("span", { class: "rs-verdict", "data-severity": kind, title: words }, el("span", { "aria-hidden": "true", text: mark }), el("span", { class: "rs-unseen", text: `${words}: ` }));
}

/** The struck circle that stands before a removed word. */
const struck = () => el("svg", { viewBox: "0 0 12 12", class: "rs-removedsign", "aria-hidden": "true", focusable: "false" }, el("circle", { cx: 6, cy: 6, r: 4.6 }), el("line", { x1: 2.8, y1: 9.2, x2: 9.2, y2: 2.8 }));

function word({ text, kind, classes }) {
  if (kind === "present") return el("span", { class: "rs-present", title: `in the image: ${classes.join(", ")}`, text });
  if (kind === "removed") {
    const [first, ...rest] = text.split(/(?<=\S)(?=\s)/); // the sign stays on the line of the first word
    return el("span", { class: "rs-removed", title: `removed: ${classes.join(", ")}` }, el("span", { class: "rs-signed" }, struck(), el("span", { class: "rs-unseen", text: "removed: " }), first), ...rest);
  }
  return text; // a string child becomes a text node
}

/** Nodes for the parts of a caption, or for its plain text where the server sent none. */
export const captionNodes = ({ text, parts }) => (parts?.length ? parts.map(word) : [text]);

/** What the marks mean, in one line. */
export function key() {
  const item = (...children) => el("span", {}, ...children);
  const marked = (name, words) => {
    const [mark, kind] = VERDICTS[name];
    return item(el("span", { class: "rs-verdict", "data-severity": kind, "aria-hidden": "true", text: mark }), ` ${words}`);
  };
  return el(
    "p",
    { class: "rs-flow rs-note rs-wordkey" },
    item(el("span", { class: "rs-present", text: "in the image" })),
    item(el("span", { class: "rs-removed" }, struck(), "removed from it")),
    marked("correct", "fits"),
    marked("names removed", "names what was removed"),
    marked("names nothing present", "names nothing that is there"),
  );
}
