// What the section "Mistakes" requests from the server; every failure is a ServerError with a sentence.

import { ask, base } from "../common/api.js";

const post = (what) => (asked) => ask(`retrieval/mistakes/${what}`, asked);

export const severity = post("severity");
export const training = post("training");
export const classes = post("classes");
export const queries = post("queries");
export const baseline = post("baseline");

/** Address of a table: severity, training, classes, confusions or queries. */
export function csvUrl(table, asked) {
  const given = Object.entries(asked).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `${base()}/retrieval/mistakes/${table}.csv?${new URLSearchParams(given)}`;
}
