// Colours of arms, paths of classes and severities. Colours of classes come from the server (explorer/palette.py).

/** Classes of what is drawn in the colour of an arm. */
export const ink = (arm) => `rs-ink rs-ink-${arm}`;

/** The colour of an arm. */
export const hue = (arm) => `var(--rs-arm-${arm})`;

/** Ancestor of class `id` of `level` at the coarser level `up`. */
function ancestor(run, level, up, id) {
  for (let at = level; at < up; at += 1) id = run.parents[at][id];
  return id;
}

/** Names from the class at `level` up to the coarsest, such as "Juice", "Packages". */
export function path(run, level, id) {
  return run.names.slice(level).map((names, step) => names[ancestor(run, level, level + step, id)]);
}

/** "#rrggbb" as [r, g, b]. */
export const rgb = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

const MARKS = { same: "✓", near: "≈", far: "~", none: "✕" };

/** Whether the images of a run have classes: without labels all are of one, and no result is a mistake. */
export const hasClasses = ({ names }) => !Array.isArray(names) || names.some((level) => level.length > 1);

/** How bad a result is: its mark, its word and the name of its colour. `shared` of `run.names.length` levels agree; null:
 * nobody knows. */
export function severity(run, shared) {
  if (shared === null || !hasClasses(run)) return { kind: "unknown", mark: "", word: "" };
  const depth = run.names.length;
  const kind = shared >= depth ? "same" : shared === 0 ? "none" : shared === depth - 1 ? "near" : "far";
  return { kind, mark: MARKS[kind], word: run.words[Math.min(shared, depth)] };
}
