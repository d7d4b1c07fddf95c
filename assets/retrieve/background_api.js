// What the section "What did it look at?" requests from the server; every failure is a ServerError with a sentence.

import { ask, base, json } from "../common/api.js";

const part = encodeURIComponent;
const at = (path) => `${base()}/retrieval/background/${path}`;

/** The reply is {answer}, or {job}: the id of the work below `JOBS` whose result the answer will be. */
export const measure = (asked) => ask("retrieval/background/measure", asked);
export const JOBS = "retrieval/background/job";
export const query = (key, number) => json(`retrieval/background/${part(key)}/query/${number}`);
export const formUrl = (key, form, number) => at(`${part(key)}/form/${part(form)}/${number}`);
export const imageUrl = (key, place) => at(`${part(key)}/image/${place}`);
export const csvUrl = (key) => at(`${part(key)}/numbers.csv`);
