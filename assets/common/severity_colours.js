// Shares by severity as parts of a bar: each severity has its mark, its word and its colour.

import { el } from "./dom.js";
import { brief } from "./names.js";
import { severity } from "./palette.js";

/** Best first: {shared, kind, mark, word, colour}; `words` as the server sends them, unrelated first. */
export function severities(words) {
  const depth = words.length - 1;
  const run = { names: { length: depth }, words };
  return words.map((_, shared) => ({ shared, ...severity(run, shared), colour: colour(shared, depth) })).reverse();
}

/** From the colour of near results to that of unrelated ones, a step for each level. */
function colour(shared, depth) {
  if (shared >= depth) return "var(--rs-same)";
  if (shared === 0) return "var(--rs-none)";
  const near = depth < 3 ? 100 : Math.round((100 * shared) / (depth - 1));
  return `color-mix(in oklab, var(--rs-near) ${near}%, var(--rs-none))`;
}

export function severityKey(words) {
  const items = severities(words).map(({ mark, word, colour: ink }) => el("li", { class: "rs-flow" }, el("span", { class: "rs-keymark", style: `background: ${ink}`, text: mark, "aria-hidden": "true" }), el("span", { text: brief(word) })));
  return el("ul", { class: "rs-flow rs-note rs-severitykey", "aria-label": "Severities" }, ...items);
}

export const share = (value) => `${(value * 100).toFixed(1)} %`;

/** "same product 89.2 %, unrelated 3.1 %". */
export const spokenShares = (words, shares) => severities(words).map(({ word, shared }) => `${brief(word)} ${share(shares[shared])}`).join(", ");

const ROOM = 0.09; // a narrower part of a bar has no room for its number
const WIDE = 0.25; // nor has this one on a phone

export function severityBar(words, shares, label) {
  const parts = severities(words).map(({ shared, mark, word, colour: ink }) => {
    const value = shares[shared];
    const text = value >= ROOM ? `${mark} ${Math.round(value * 100)} %` : "";
    return el("span", { class: value < WIDE ? "rs-sharepart rs-tightpart" : "rs-sharepart", style: `flex-grow: ${value}; background: ${ink}`, title: `${mark} ${word}: ${share(value)}`, text, hidden: value <= 0 });
  });
  return el("div", { class: "rs-sharebar", role: "img", "aria-label": `${label}: ${spokenShares(words, shares)}` }, ...parts);
}
