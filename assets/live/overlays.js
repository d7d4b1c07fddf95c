// Rings and trails on the maps: what is hovered, what is chosen, and where it came from.

import { isDark, ink } from "../common/theme.js";

const TRAIL = 5; // frames
const TRAIL_DOTS = 9; // dots between two frames
const SOLID = 99; // a ring this wide is a filled dot
const SEVERITY = {
  light: { same: [10, 122, 92], near: [154, 98, 0], far: [154, 98, 0], none: [177, 28, 96] },
  dark: { same: [79, 209, 165], near: [240, 192, 84], far: [240, 192, 84], none: [255, 122, 178] },
};

/** Where point i stood in the last frames of an arm, as [x, y] pairs, oldest first. */
export function trailOf(frames, arm, i) {
  return frames.slice(-TRAIL).map(({ places }) => [places[arm][i * 2], places[arm][i * 2 + 1]]);
}

/** What is ringed on the maps of a run, such as a wrong label: an attribute of its images; none of most runs. */
export const ringedAttribute = (run) => (run.attributes ?? []).find((attribute) => attribute.ringed !== undefined);

/** The points that have it. */
export function ringedOf(run) {
  const one = ringedAttribute(run);
  return one ? [...one.values.keys()].filter((i) => one.values[i] === one.ringed) : [];
}

/** The colour of what has a tag: that of --rs-focus. */
export const tagInk = () => (isDark() ? [108, 178, 255] : [11, 95, 192]);

/** A ring around each of some points, whose dots are `size` wide. */
export function ringsOf(points, at, size, colour = ink()) {
  return points.map((i) => {
    const [x, y] = at(i);
    return { x, y, size: size + 3, width: 1, colour, alpha: 0.7 };
  });
}

/**
 * Marks of one map. `at(i)`: where a point is now; `trail`: earlier places of the chosen one;
 * `results`: [[id, severity]] of its neighbours under this arm; `least`: px across that a ring has at least.
 */
export function marksOf({ at, chosen, hovered, trail, results }, least = 0) {
  const marks = [];
  const line = ink();
  const shades = SEVERITY[isDark() ? "dark" : "light"];
  const ring = (i, size, width, colour = line, alpha = 1) => {
    const [x, y] = at(i);
    marks.push({ x, y, size, width, colour, alpha });
  };
  for (const [id, kind] of results) ring(id, 13, 2, shades[kind], 0.9);
  if (chosen !== null) {
    drawTrail(marks, [...trail, at(chosen)], line);
    ring(chosen, 20, 2.5);
  }
  if (hovered !== null) hovered === chosen ? ring(hovered, 27, 1.5, line, 0.7) : ring(hovered, Math.max(17, least), 2);
  return marks;
}

function drawTrail(marks, places, colour) {
  const total = (places.length - 1) * TRAIL_DOTS;
  for (let leg = 0; leg + 1 < places.length; leg += 1) {
    const [[ax, ay], [bx, by]] = [places[leg], places[leg + 1]];
    for (let n = 0; n < TRAIL_DOTS; n += 1) {
      const t = n / TRAIL_DOTS;
      const alpha = 0.08 + 0.5 * ((leg * TRAIL_DOTS + n) / total);
      marks.push({ x: ax + (bx - ax) * t, y: ay + (by - ay) * t, size: 3, width: SOLID, colour, alpha });
    }
  }
}
