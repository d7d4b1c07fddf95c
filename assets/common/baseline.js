// The baseline that is pinned beside the open run. It is kept in the address, so that all tabs and whoever gets the address
// have the same one.

import { el } from "./dom.js";
import { signed } from "./measures.js";

const NAME = "pin";
const CHANGED = "rankscope:pin";
const KEY = /^(\w+)(?:\.(\d+))?$/;

/** What is pinned: {key, run, arm}, `arm` being null where it is the whole run; null if nothing is. */
export function pinned() {
  const [key, run, arm] = KEY.exec(new URLSearchParams(location.search).get(NAME) ?? "") ?? [];
  return key ? { key, run, arm: arm === undefined ? null : Number(arm) } : null;
}

/** Pin "RUN" or "RUN.ARM"; null: nothing. */
export function pin(key) {
  const url = new URL(location.href);
  if (key) url.searchParams.set(NAME, key);
  else url.searchParams.delete(NAME);
  history.replaceState(history.state, "", url.href);
  window.dispatchEvent(new Event(CHANGED));
}

export const onPin = (changed) => window.addEventListener(CHANGED, changed);

/** For each arm the baseline's arm that it is compared with: of its title, else in its place, else the first. */
export const paired = (titles, others) => titles.map((title, arm) => {
  const same = others.indexOf(title);
  return same >= 0 ? same : arm < others.length ? arm : 0;
});

/** A difference, coloured by whether it is an improvement; `better`: "up", "down", or "" where neither is. */
export function difference(value, better = "up") {
  const text = signed(value);
  const gain = better === "down" ? -value : value;
  return el("span", { class: !better || text.startsWith("±") ? null : gain > 0 ? "rs-better" : "rs-worse", text });
}
