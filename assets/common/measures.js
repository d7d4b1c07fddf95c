// Numbers in words: the server's templates, filled in with what is known.

import { grouped } from "./dom.js";

const FIELD = /\{([^}]+)\}/g;

/** The first template whose every {field} is known, filled in; else "". `known(field)`: a number or null. */
export function filled(templates, known) {
  const whole = (text) => [...text.matchAll(FIELD)].every(([, field]) => Number.isFinite(known(field)));
  return templates.find(whole)?.replace(FIELD, (_, field) => grouped(known(field))) ?? "";
}
