// What the tab "Remove an object" requests from the server; every failure is a ServerError with a sentence.

import { base, json } from "../common/api.js";

const ask = (path, options) => json(`objects/${path}`, options);
const post = (path, content) => ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });
const part = encodeURIComponent;

export const start = () => ask("start");
/** `ticket`: hexadecimal digits of one's own, under which `opening` reports the progress and `leave` cancels it. */
export const open = (source, captionsFrom, ticket) => post("open", { source, ticket, ...(captionsFrom && { captions_from: captionsFrom }) });
export const opening = (ticket) => ask(`open/${ticket}`);
export const leave = (ticket) => post(`open/${ticket}/leave`, {});
export const images = (dataset, offset, count) => ask(`images/${part(dataset)}?offset=${offset}&count=${count}`);
export const image = (ref) => ask(`image/${part(ref)}`);
export const detectors = () => ask("detectors");
export const detect = (ref, detector) => post("detect", { image: ref, detector });
export const nameIt = (ref, box, model) => post("name", { image: ref, box, model });
export const query = (asked) => post("query", asked);
export const encode = (dataset, models) => post("encode", { dataset, models });
export const encoding = () => ask("encoding");
export const benchmark = (asked) => post("score", asked);
export const job = (id) => ask(`score/${part(id)}`);
export const stopJob = (id) => post(`score/${part(id)}/stop`, {});

/** The bytes of an image file, unchanged; the reply is that of `image`. */
export function upload(file) {
  const name = part(file.name ?? "").slice(0, 200); // a header holds ASCII alone
  const headers = { "content-type": "application/octet-stream", ...(name && { "x-rankscope-name": name }) };
  return ask("upload", { method: "POST", headers, body: file });
}

export const imageUrl = (ref, side) => `${base()}/objects/image/${part(ref)}/pixels?side=${side}`;
export const filledUrl = (key) => `${base()}/objects/filled/${part(key)}`;
export const csvUrl = (id) => `${base()}/objects/score/${part(id)}/csv`;
