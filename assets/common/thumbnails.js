// Thumbnails cut from the run's sheets: one request serves many images.

import { sheetUrl } from "./api.js";
import { brief, coarseToFine, inFull } from "./names.js";

/** Style a node so that it shows thumbnail `i` of the run, at whatever size the node has. What has no sheets says where
 * its images are: `imageUrl(i)`. */
export function thumbnail(node, run, i) {
  if (run.imageUrl) {
    Object.assign(node.style, { backgroundImage: `url("${run.imageUrl(i)}")`, backgroundSize: "cover", backgroundPosition: "center" });
    return node;
  }
  const per = run.columns * run.columns;
  const tile = i % per;
  const last = Math.max(run.columns - 1, 1);
  // the last sheet has only as many rows as it needs
  const rows = Math.ceil(Math.min(per, run.points - (i - tile)) / run.columns);
  const column = tile % run.columns;
  const row = Math.floor(tile / run.columns);
  node.style.backgroundImage = `url("${sheetUrl(run.id, Math.floor(i / per))}")`;
  node.style.backgroundSize = `${run.columns * 100}%`;
  node.style.backgroundPosition = `${(column / last) * 100}% ${(row / Math.max(rows - 1, 1)) * 100}%`;
  return node;
}

/** Class names of point i as the dataset has them, finest first. For files; the page shows `shownNames`. */
export const namesOf = (run, i) => run.levels.map((_, level) => run.names[level][run.labels[level][i]]);

/** The same, each fit for a line. */
export const shownNames = (run, i) => namesOf(run, i).map((name) => brief(name));

/** The path above the finest class, coarsest first: "Packages › Juice". */
export const pathOf = (run, i) => coarseToFine(shownNames(run, i).slice(1));

/** For a tooltip: every name of point i, finest first, a line each. */
export const tooltipOf = (run, i) => namesOf(run, i).map(inFull).join("\n");

/** What a screen reader hears for point i. */
export const imageLabel = (run, i) => `Image ${i + 1}: ${shownNames(run, i).join(", ")}`;
