// What the tab "Remove an object" requests from the server; every failure is a ServerError with a sentence.

import { base, json } from "../common/api.js";

const ask = (path, options) => json(`objects/${path}`, options);
const post = (path, content) => ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });
const part = encodeURIComponent;

export const start = () => ask("start");
/** Jobs below a path, as `Task` follows and stops them. */
const jobs = (path) => ({ job: (id) => ask(`${path}/${part(id)}`), stop: (id) => post(`${path}/${part(id)}/stop`, {}) });
/** The reply is {answer}, or {job}: the id of the work whose result the answer will be. */
export const open = (source, captionsFrom) => post("open", { source, ...(captionsFrom && { captions_from: captionsFrom }) });
export const openings = jobs("open");
export const images = (dataset, offset, count) => ask(`images/${part(dataset)}?offset=${offset}&count=${count}`);
export const image = (ref) => ask(`image/${part(ref)}`);
export const detectors = () => ask("detectors");
export const detect = (ref, detector) => post("detect", { image: ref, detector });
export const nameIt = (ref, box, model) => post("name", { image: ref, box, model });
export const query = (asked) => post("query", asked);
export const encode = (dataset, models) => post("encode", { dataset, models });
export const encoding = () => ask("encoding");
/** The reply is {job}. */
export const benchmark = (asked) => post("score", asked);
export const benchmarks = jobs("score");

/** The bytes of an image file, unchanged; the reply is that of `image`. */
export function upload(file) {
  const name = part(file.name ?? "").slice(0, 200); // a header holds ASCII alone
  const headers = { "content-type": "application/octet-stream", ...(name && { "x-rankscope-name": name }) };
  return ask("upload", { method: "POST", headers, body: file });
}

export const imageUrl = (ref, side) => `${base()}/objects/image/${part(ref)}/pixels?side=${side}`;
export const filledUrl = (key) => `${base()}/objects/filled/${part(key)}`;
export const csvUrl = (id) => `${base()}/objects/score/${part(id)}/csv`;
