// What other parts of the page may ask of the Live view.

import { token } from "../common/api.js";

export function expose(live) {
  token(); // made now, not at the first use: two tabs that ask at the same moment would each make their own
  window.rankscope = {
    live,
    token,
    current: () => live.run?.id ?? "",
    open: (id) => live.open(id).catch((error) => live.status.problem.say(error.message)),
  };
}

/** Open the tab "Retrieve", which searches with the image that is chosen. */
export function toRetrieve() {
  const tabs = [...document.querySelectorAll("#rs-tabs button[role=tab]")];
  tabs.find((tab) => tab.textContent.trim() === "Retrieve")?.click();
  window.scrollTo({ top: 0 });
}

/** Show a run in the Live tab, from its top. */
export function toLive(id) {
  window.rankscope?.open(id);
  document.querySelector("#rs-tabs button[role=tab]")?.click();
  window.scrollTo({ top: 0 });
}
