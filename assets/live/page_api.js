// What other parts of the page may ask of the Live view.

import * as api from "../common/api.js";
import { show } from "../common/navigation.js";

export function installPageApi(live) {
  api.token(); // made now, not at the first use: two tabs that ask at the same moment would each make their own
  window.rankscope = {
    live,
    token: api.token,
    view: () => live.view(),
    current: () => live.run?.id ?? "",
    /** The run that the sidebar's buttons are about: the plan while its tab is open. */
    viewed: () => window.rankscopePlan?.seen() ?? live.run?.id ?? "",
    open: (id) => live.open(id).catch((error) => live.status.problem.say(error.message)),
    show,
  };
}
