// What can be downloaded of a run.

import { downloadUrl } from "./api.js";
import { el } from "./dom.js";

/** A link to every download that the server offers of a run, one per list item. */
export const downloads = (run) => Object.entries(run.downloads).map(([kind, text]) => el("li", {}, el("a", { href: downloadUrl(run.id, kind), download: "", text })));
