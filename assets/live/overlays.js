// Rings and trails on the maps: what is hovered, what is chosen, and where it came from.

import { isDark, ink } from "../page/theme.js";

const TRAIL = 5; // frames
const BEADS = 9; // dots between two frames
const SOLID = 99; // a ring this wide is a filled dot
const SEVERITY = {
  light: { same: [10, 122, 92], near: [154, 98, 0], far: [154, 98, 0], none: [177, 28, 96] },
  dark: { same: [79, 209, 165], near: [240, 192, 84], far: [240, 192, 84], none: [255, 122, 178] },
};

/** Where point i stood in the last frames of an arm, as [x, y] pairs, oldest first. */
export function trailOf(frames, arm, i) {
  return frames.slice(-TRAIL).map(({ coords, limit }) => {
    const packed = coords[arm];
    return [((packed[i * 2] / 65535) * 2 - 1) * limit, ((packed[i * 2 + 1] / 65535) * 2 - 1) * limit];
  });
}

/**
 * Marks of one map. `at(i)`: where a point is now; `trail`: earlier places of the chosen one;
 * `results`: [[id, severity]] of its neighbours under this arm.
 */
export function marksOf({ at, chosen, hovered, trail, results }) {
  const marks = [];
  const line = ink();
  const shades = SEVERITY[isDark() ? "dark" : "light"];
  for (const [id, kind] of results) {
    const [x, y] = at(id);
    marks.push({ x, y, size: 13, width: 2, colour: shades[kind], alpha: 0.9 });
  }
  if (chosen !== null) {
    const end = at(chosen);
    beads(marks, [...trail, end], line);
    marks.push({ x: end[0], y: end[1], size: 20, width: 2.5, colour: line });
  }
  if (hovered !== null && hovered !== chosen) {
    const [x, y] = at(hovered);
    marks.push({ x, y, size: 17, width: 2, colour: line });
  } else if (hovered !== null) {
    const [x, y] = at(hovered);
    marks.push({ x, y, size: 27, width: 1.5, colour: line, alpha: 0.7 });
  }
  return marks;
}

function beads(marks, places, colour) {
  const total = (places.length - 1) * BEADS;
  for (let leg = 0; leg + 1 < places.length; leg += 1) {
    const [[ax, ay], [bx, by]] = [places[leg], places[leg + 1]];
    for (let n = 0; n < BEADS; n += 1) {
      const t = n / BEADS;
      const alpha = 0.08 + 0.5 * ((leg * BEADS + n) / total);
      marks.push({ x: ax + (bx - ax) * t, y: ay + (by - ay) * t, size: 3, width: SOLID, colour, alpha });
    }
  }
}
