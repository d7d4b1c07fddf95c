// What the tab "Remove an object" requests from the server; every failure is a ServerError with a sentence.

import { ask, base, json } from "../common/api.js";

const get = (path, options) => json(`objects/${path}`, options);
const post = (path, content) => ask(`objects/${path}`, content);
const part = encodeURIComponent;

export const start = () => get("start");
/** The reply is {answer}, or {job}: the id of the work below `OPENINGS` whose result the answer will be. */
export const open = (source, captionsFrom) => post("open", { source, ...(captionsFrom && { captions_from: captionsFrom }) });
export const OPENINGS = "objects/open";
export const images = (dataset, offset, count) => get(`images/${part(dataset)}?offset=${offset}&count=${count}`);
export const image = (ref) => get(`image/${part(ref)}`);
export const detectors = () => get("detectors");
export const detect = (ref, detector) => post("detect", { image: ref, detector });
export const nameIt = (ref, box, model) => post("name", { image: ref, box, model });
export const query = (asked) => post("query", asked);
export const encode = (dataset, models) => post("encode", { dataset, models });
export const encoding = () => get("encoding");
/** The reply is {job}: the id of the work below `BENCHMARKS`. */
export const benchmark = (asked) => post("score", asked);
export const BENCHMARKS = "objects/score";

/** The bytes of an image file, unchanged; the reply is that of `image`. */
export function upload(file) {
  const name = part(file.name ?? "").slice(0, 200); // a header holds ASCII alone
  const headers = { "content-type": "application/octet-stream", ...(name && { "x-rankscope-name": name }) };
  return get("upload", { method: "POST", headers, body: file });
}

export const imageUrl = (ref, side) => `${base()}/objects/image/${part(ref)}/pixels?side=${side}`;
export const filledUrl = (key) => `${base()}/objects/filled/${part(key)}`;
export const csvUrl = (id) => `${base()}/objects/score/${part(id)}/csv`;
