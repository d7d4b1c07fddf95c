// Numbers in words: the server's templates, filled in with what is known.

import { grouped } from "./dom.js";

const FIELD = /\{([^}]+)\}/g;

/** The first template whose every {field} is known, filled in; else "". `known(field)`: a number or null. */
export function filled(templates, known) {
  const whole = (text) => [...text.matchAll(FIELD)].every(([, field]) => Number.isFinite(known(field)));
  return templates.find(whole)?.replace(FIELD, (_, field) => grouped(known(field))) ?? "";
}

/** "a, b and c". */
export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** A share between 0 and 1 as "9.9 %". */
export const percent = (share) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;

/** A difference with its sign: "+0.030". */
export function signed(value, digits = 3) {
  const size = Math.abs(value).toFixed(digits);
  return `${Number(size) === 0 ? "±" : value > 0 ? "+" : "−"}${size}`;
}

/** "new", "up 3", "left", or nothing for a result that kept its rank. */
export function moved(move) {
  if (typeof move !== "number") return move ?? "";
  return move === 0 ? "" : `${move > 0 ? "up" : "down"} ${Math.abs(move)}`;
}
