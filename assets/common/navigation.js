// The ways from one tab to another.

import * as api from "./api.js";

/** Name of a comparison of the Hub in the address of the page. */
export const COMPARISON = "comparison";

/** Show a run where it belongs: a plan in the tab "Compare", every other in Live. */
export async function show(id) {
  const run = await api.run(id).catch(() => null);
  if (run?.plans) toPlan(id);
  else toLive(id);
}

/** Open a tab by its title. */
function openTab(title) {
  const tabs = [...document.querySelectorAll("#rs-tabs button[role=tab]")];
  tabs.find((tab) => tab.textContent.trim() === title)?.click();
  window.scrollTo({ top: 0 });
}

/** Open the tab "Retrieve", which searches with the image that is chosen. */
export const toRetrieve = () => openTab("Retrieve");

/** Open the tab beside which the settings of a run stand. */
export const toForm = () => openTab("Live");

/** Open a comparison of the Hub in the tab "Compare". */
export function toHub(name) {
  window.rankscopeHub = name;
  window.dispatchEvent(new CustomEvent("rankscope:wanted"));
  openTab("Compare");
}

/** Open a section of the tab "Retrieve" with some images of a run's maps; its module may not be there yet. */
export function toSelection(section, run, points) {
  window.rankscopeSelected = { section, run, points };
  window.dispatchEvent(new CustomEvent("rankscope:selected"));
  openTab("Retrieve");
}

/** Show a run in the Live tab, from its top. */
export function toLive(id) {
  window.rankscope?.open(id);
  openTab("Live");
}

/** Show a plan in the tab "Compare". The tab's module may not be there yet: it asks for the one that is wanted. */
export function toPlan(id) {
  window.rankscopeWanted = id;
  window.dispatchEvent(new CustomEvent("rankscope:wanted"));
  openTab("Compare");
}
