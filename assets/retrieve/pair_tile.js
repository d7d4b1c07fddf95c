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

/** A list of which the first `few` are shown, and a button for the rest. */
export function longList(items, few, kind = "") {
  const list = el("ol", { class: `rs-stack rs-tight ${kind}` }, ...items);
  const rest = items.slice(few);
  if (!rest.length) return el("div", { class: "rs-stack rs-tight" }, list);
  for (const item of rest) item.hidden = true;
  const more = el("button", { type: "button", class: "rs-act", text: `Show all ${items.length}` });
  more.addEventListener("click", () => {
    for (const item of rest) item.hidden = false;
    more.remove();
    rest[0].querySelector("button")?.focus();
  });
  return el("div", { class: "rs-stack rs-tight" }, list, more);
}
