// What the section "What did it look at?" requests from the server; every failure is a ServerError with a sentence.

import { base, json } from "../common/api.js";

const ask = (path, options) => json(`retrieval/background/${path}`, options);
const post = (path, content) => ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });
const part = encodeURIComponent;
const at = (path) => `${base()}/retrieval/background/${path}`;

/** The reply is {answer}, or {job}: the id of the work whose result the answer will be. */
export const measure = (asked) => post("measure", asked);
export const job = (id) => ask(`job/${part(id)}`);
export const stop = (id) => post(`job/${part(id)}/stop`, {});
export const query = (key, number) => ask(`${part(key)}/query/${number}`);
export const formUrl = (key, form, number) => at(`${part(key)}/form/${part(form)}/${number}`);
export const imageUrl = (key, place) => at(`${part(key)}/image/${place}`);
export const csvUrl = (key) => at(`${part(key)}/numbers.csv`);
