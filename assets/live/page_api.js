// What other parts of the page may ask of the Live view, and the ways from one tab to another.

import * as api from "../common/api.js";

export function expose(live) {
  api.token(); // made now, not at the first use: two tabs that ask at the same moment would each make their own
  window.rankscope = {
    live,
    token: api.token,
    current: () => live.run?.id ?? "",
    /** The run that the sidebar's buttons are about: the plan while its tab is open. */
    viewed: () => window.rankscopePlan?.seen() ?? live.run?.id ?? "",
    open: (id) => live.open(id).catch((error) => live.status.problem.say(error.message)),
    show,
    /** Fill the form with a run's settings, to train it over seeds; undefined until the page offers it. */
    get sweep() {
      return window.rankscopePlans?.begin;
    },
  };
}

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
