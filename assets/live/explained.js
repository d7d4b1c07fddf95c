// A word that explains itself on hover and on focus.

import { el } from "../common/dom.js";

const tips = { count: 0 };

export function explained(text, sentence) {
  tips.count += 1;
  const id = `rs-tip-${tips.count}`;
  const tip = el("span", { class: "rs-tip", role: "tooltip", id, text: sentence });
  const word = el("button", { type: "button", class: "rs-word", "aria-describedby": id, text });
  word.addEventListener("keydown", (event) => event.key === "Escape" && word.blur());
  return el("span", { class: "rs-explained" }, word, tip);
}
