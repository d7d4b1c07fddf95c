// What a link to a view says beside the run, and what of it can be shown again: frame, image, colouring, selection.

const BY = "by";
const SELECTED = "sel";
const MOST = 400; // ranges of a selection; an address of more is cut by some programs

/** Parameters of the address that the view of `live` adds. */
export function viewed(live) {
  const { player, images, legend, run } = live;
  const words = { k: player.k, i: images.chosen };
  if (run?.points && legend.title !== legend.usual) words[BY] = legend.title;
  const ranges = packed(images.lassoed);
  if (ranges.length && ranges.length <= MOST) words[SELECTED] = ranges.join(".");
  return words;
}

/** Names of all these parameters. */
export const VIEWED = ["k", "i", BY, SELECTED];

/** Show what the address asks for; returns a sentence about what is gone, empty if all is there. */
export function restore(live, asked) {
  const { player, images, legend, run } = live;
  const gone = [];
  const wanted = asked.get("k");
  if (wanted !== null && player.k !== Number(wanted)) gone.push("its frame");
  if (asked.has(BY) && run.points && !legend.chooseTitle(asked.get(BY))) gone.push("its colouring");
  const there = (index) => Number.isInteger(index) && index >= 0 && index < run.points;
  if (asked.has("i")) {
    const index = Number(asked.get("i"));
    if (there(index)) images.choose(index);
    else gone.push("its image");
  }
  const ids = unpacked(asked.get(SELECTED) ?? "", run.points);
  if (ids.length) images.lasso(ids, "Selected in the link");
  else if (asked.has(SELECTED)) gone.push("its selection");
  return gone.length ? `Of the view in this link ${gone.join(", ")} ${gone.length > 1 ? "are" : "is"} no longer there; the rest is shown.` : "";
}

/** Ascending numbers as ranges: 3, 4, 5, 8 are "3-5" and "8". */
function packed(ids) {
  const ranges = [];
  for (const id of [...ids].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
}

function unpacked(text, count) {
  const ids = new Set();
  for (const range of text.split(".").slice(0, MOST)) {
    const [, first, last] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range) ?? [];
    if (first === undefined) continue;
    for (let id = Number(first); id <= Math.min(Number(last ?? first), count - 1); id += 1) ids.add(id);
  }
  return [...ids].filter((id) => id < count);
}
