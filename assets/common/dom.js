// Small helpers for building the page. Text goes in through textContent only: class names come from datasets.

import { ink } from "./palette.js";

/** Make an element. `props` sets attributes, except `text`, `class` and functions named onX (listeners). */
export function el(tag, props = {}, ...children) {
  const svg = SVG_TAGS.has(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") node.textContent = value;
    else if (key === "class") node.setAttribute("class", value);
    else if (typeof value === "function") node.addEventListener(key.slice(2).toLowerCase(), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const SVG_TAGS = new Set(["svg", "path", "line", "g", "circle", "rect", "polygon", "polyline", "text"]);

/** Write text only when it changed, so that live regions stay quiet. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Call `changed(pointed)` when the pointer or the focus enters a node, and when it leaves. */
export function onPoint(node, changed) {
  for (const name of ["pointerenter", "focus"]) node.addEventListener(name, () => changed(true));
  for (const name of ["pointerleave", "blur"]) node.addEventListener(name, () => changed(false));
}

/** The square in an arm's colour. */
export const swatch = (arm) => el("span", { class: `rs-swatch ${ink(arm)}`, "aria-hidden": "true" });

/** Which colour stands for which arm. */
export function armKey(titles) {
  return el("ul", { class: "rs-flow rs-armkey" }, ...titles.map((text, arm) => el("li", { class: "rs-flow" }, swatch(arm), el("span", { text }))));
}

/** An icon drawn from one path on a 24 unit square. */
export function icon(name) {
  const path = el("path", { d: ICONS[name] });
  return el("svg", { viewBox: "0 0 24 24", class: "rs-icon", "aria-hidden": "true", focusable: "false" }, path);
}

export function setIcon(button, name) {
  button.querySelector("path").setAttribute("d", ICONS[name]);
}

const SAID = 4000; // ms that a sentence of a moment stays
const ICONS = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M6 5h4v14H6zM14 5h4v14h-4z",
  back: "M6 5h2.5v14H6zM19 5v14L9 12z",
  forward: "M15.5 5H18v14h-2.5zM5 5v14l10-7z",
  replay: "M12 5V1.5L7 6l5 4.5V7a5.5 5.5 0 1 1-5.5 5.5h-2A7.5 7.5 0 1 0 12 5z",
  lasso: "M12 3.5c5 0 9 2.7 9 6.2 0 3.600-4 6.300-9 6.300-.9 0-1.800-.1-2.600-.3-.2 2.600-1.800 4.300-4.400 4.800l-.4-1.700c1.700-.3 2.700-1.300 2.900-3-2.700-1.100-4.500-3.400-4.500-6.100 0-3.500 4-6.200 9-6.200zm0 1.800c-4.100 0-7.200 2-7.200 4.400 0 2.500 3.100 4.500 7.200 4.500s7.200-2 7.200-4.500c0-2.400-3.100-4.400-7.200-4.400z",
  reset: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  enlarge: "M14 4h6v6h-2V7.400l-4.300 4.300-1.400-1.400L16.600 6H14zM4 14h2v2.600l4.300-4.300 1.400 1.400L7.400 18H10v2H4z",
  close: "M6.400 5 12 10.600 17.600 5 19 6.400 13.400 12 19 17.600 17.600 19 12 13.400 6.400 19 5 17.600 10.600 12 5 6.400z",
  link: "M10.600 13.400a4 4 0 0 0 5.700 0l3.500-3.500a4 4 0 0 0-5.700-5.700l-1.500 1.500 1.400 1.400 1.500-1.500a2 2 0 0 1 2.900 2.900L14.900 12a2 2 0 0 1-2.900 0zM13.400 10.600a4 4 0 0 0-5.700 0l-3.500 3.500a4 4 0 0 0 5.700 5.700l1.500-1.500-1.400-1.400-1.500 1.500a2 2 0 0 1-2.900-2.900L9.100 12a2 2 0 0 1 2.900 0z",
  down: "M11 4h2v8.200l3.300-3.300 1.400 1.400L12 16 6.300 10.300l1.400-1.400L11 12.200zM5 18h14v2H5z",
};

/** Say something for a while. */
export function sayBriefly(node, sentence) {
  say(node, sentence);
  clearTimeout(node.rankscopeSaid);
  node.rankscopeSaid = setTimeout(() => say(node, ""), SAID);
}

/** Run `task` at most once per animation frame. */
export function perFrame(task) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      task();
    });
  };
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A number with three decimals, or a dash. */
export function figure(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return value.toFixed(3);
}

/** A count with thin separators: 1,000. */
export const grouped = (value) => Math.round(value).toLocaleString("en-GB");

/** A moment, in seconds since the epoch, in words. */
export const when = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Where a run or plan comes from: a recording, or when it was started. */
export const origin = (run) => (run.hub ? "from the Hub" : run.recorded ? "recorded" : when(run.created));
