// Colours: one per run, hue by parent and lightness by child for classes. Built in OKLCH so that steps look even.

/** Classes of what is drawn in the colour of an arm. */
export const ink = (arm) => `rs-ink rs-ink-${arm}`;

const MAX_HUES = 12;

/** OKLCH to sRGB bytes; chroma is reduced until the colour exists on a screen. */
function oklch(lightness, chroma, hue) {
  for (let c = chroma; c >= 0; c -= 0.01) {
    const rgb = toRgb(lightness, c, hue);
    if (rgb.every((value) => value >= -0.001 && value <= 1.001)) {
      return rgb.map((value) => Math.round(Math.min(1, Math.max(0, value)) * 255));
    }
  }
  return [128, 128, 128];
}

function toRgb(L, c, hue) {
  const a = c * Math.cos((hue * Math.PI) / 180);
  const b = c * Math.sin((hue * Math.PI) / 180);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((x) => (x <= 0.0031308 ? 12.92 * x : 1.055 * Math.max(x, 0) ** (1 / 2.4) - 0.055));
}

/** Ancestor of class `id` of `level` at the coarser level `up`. */
function ancestor(run, level, up, id) {
  for (let at = level; at < up; at += 1) id = run.parents[at][id];
  return id;
}

/** Names from the class at `level` up to the coarsest, for a path such as "Juice › Packages". */
export function path(run, level, id) {
  return run.names.slice(level).map((names, step) => names[ancestor(run, level, level + step, id)]);
}

/**
 * One colour per class of `level`: [r, g, b] or null where the class stays grey until chosen.
 * Families share a hue; members of a family differ in lightness and a little in hue.
 */
export function classColours(run, level, counts, dark) {
  const classes = run.names[level].length;
  let up = Math.min(level + 1, run.names.length - 1);
  while (up < run.names.length - 1 && used(run, level, up, counts).length > MAX_HUES) up += 1;
  const families = used(run, level, up, counts);
  const shown = families.slice(0, MAX_HUES).sort((a, b) => a.id - b.id);
  const colours = new Array(classes).fill(null);
  shown.forEach((family, place) => {
    const hue = 28 + (360 * place) / shown.length;
    paint(colours, family.members, hue, Math.min(300 / shown.length, 84), dark);
  });
  return colours;
}

/** Families of `level` at `up` that have points, largest first. */
function used(run, level, up, counts) {
  const families = new Map();
  for (let id = 0; id < counts.length; id += 1) {
    if (!counts[id]) continue;
    const parent = ancestor(run, level, up, id);
    const family = families.get(parent) ?? { id: parent, members: [], total: 0 };
    family.members.push(id);
    family.total += counts[id];
    families.set(parent, family);
  }
  return [...families.values()].sort((a, b) => b.total - a.total || a.id - b.id);
}

function paint(colours, members, hue, sector, dark) {
  const [low, high] = dark ? [0.6, 0.86] : [0.45, 0.72];
  const n = members.length;
  members.forEach((id, place) => {
    const along = n === 1 ? 0.45 : place / (n - 1);
    // two interleaved lightness ramps: neighbours in the list differ more than members far apart
    const step = n > 3 ? (place % 2 === 0 ? along * 0.55 : 0.45 + along * 0.55) : along;
    colours[id] = oklch(low + (high - low) * step, dark ? 0.14 : 0.155, hue + (along - 0.5) * sector);
  });
}

export const GREY = { light: [150, 154, 166], dark: [104, 110, 124] };

/** A colour for a class without one, once it is chosen. */
export function chosenColour(id, dark) {
  return oklch(dark ? 0.78 : 0.55, 0.15, (id * 137.5) % 360);
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

const MARKS = { same: "✓", near: "≈", far: "~", none: "✕" };

/** How bad a result is: its mark, its word and the name of its colour. `shared` of `run.names.length` levels agree. */
export function severity(run, shared) {
  const depth = run.names.length;
  const kind = shared >= depth ? "same" : shared === 0 ? "none" : shared === depth - 1 ? "near" : "far";
  return { kind, mark: MARKS[kind], word: run.words[Math.min(shared, depth)] };
}
