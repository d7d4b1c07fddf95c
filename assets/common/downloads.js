// What can be downloaded of a run.

import { downloadUrl } from "./api.js";
import { el } from "./dom.js";

const KINDS = {
  "run.zip": "Whole run (zip)",
  "metrics.csv": "Numbers (CSV)",
  "coordinates.parquet": "Map coordinates (Parquet)",
  "embeddings.parquet": "Embeddings (Parquet)",
  "replay.html": "Replay as one page (HTML)",
  "curves.html": "Curves as one page (HTML)",
};

/** A link to every download of a run, one per list item. */
export const downloads = (id) => Object.entries(KINDS).map(([kind, text]) => el("li", {}, el("a", { href: downloadUrl(id, kind), download: "", text })));
