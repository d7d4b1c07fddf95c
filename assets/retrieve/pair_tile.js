// Two images beside each other: a query and a result of it, or a query alone.

import { el } from "../common/dom.js";
import { thumbnail } from "../common/thumbnails.js";
import { severity } from "../common/palette.js";

export const picture = (images, row) => thumbnail(el("span", { class: "rs-picture rs-pairpicture", "aria-hidden": "true" }), images, row);

/** A result with its severity as a mark on the edge. */
export function marked(images, row, words, shared) {
  const { kind, mark } = severity({ names: { length: words.length - 1 }, words }, shared);
  const node = picture(images, row);
  node.dataset.severity = kind;
  node.append(el("span", { class: "rs-mark", text: mark }));
  return node;
}

/** A list of which the first `few` are shown, and a button for the rest, which is made when it is wanted: `item(one)`. */
export function longList(all, item, few) {
  const list = el("ol", { class: "rs-stack rs-tight" }, ...all.slice(0, few).map(item));
  const box = el("div", { class: "rs-stack rs-tight" }, list);
  if (all.length <= few) return box;
  const more = el("button", { type: "button", class: "rs-act", text: `Show all ${all.length}` });
  more.addEventListener("click", () => {
    list.append(...all.slice(few).map(item));
    more.remove();
    list.children[few].querySelector("button")?.focus();
  });
  box.append(more);
  return box;
}
