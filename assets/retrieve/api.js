// What the tab "Retrieve" requests from the server; every failure is a ServerError with a sentence.

import { ask, base, json } from "../common/api.js";

const get = (path, options) => json(`retrieval/${path}`, options);
const part = encodeURIComponent;

export const start = () => get("start");
export const runs = async () => (await get("runs")).runs;
export const run = (id) => get(`run/${part(id)}`);
/** The reply of `open`, `objects` and `search` is {answer}, or {job}: the id of the work below `JOBS` whose result the answer will be. */
export const open = (id, gallery) => ask("retrieval/open", { run: id, gallery });
/** The classes that can be removed from an image by name, and the share of it that each covers. */
export const objects = (run, gallery, row) => ask("retrieval/objects", { run, gallery, row });
export const search = (asked) => ask("retrieval/search", asked);
/** What the similarity of a query hangs on, in every loss. */
export const look = (asked) => ask("retrieval/look", asked);
export const JOBS = "retrieval/job";
/** Said of a search that was stopped. */
export const STOPPED = "It was stopped. Search again, or choose a smaller gallery.";

/** A gallery as the address of its images needs it: {name} of one of the run's, or with {source, part, ...}. */
const place = (id, { name, ...rest }) => [`${part(id)}/${part(name)}`, new URLSearchParams(rest).toString()];

/** A page of a gallery's images: those with `text` in the name of a class, and the place of `row` among them. */
export function rows(id, gallery, { text = "", offset = 0, count = 24, row = null }) {
  const [where, more] = place(id, gallery);
  const asked = new URLSearchParams({ text, offset, count, ...(row === null ? {} : { row }) });
  return get(`rows/${where}?${asked}&${more}`);
}

export function imageUrl(id, gallery, row, side = 128) {
  const [where, more] = place(id, gallery);
  return `${base()}/retrieval/image/${where}/${row}?side=${side}&${more}`;
}

/** The bytes of an image file, unchanged; the reply is the reference of the upload. */
export const upload = async (file) => (await get("upload", { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file })).upload;
export const uploadUrl = (ref) => `${base()}/retrieval/upload/${part(ref)}`;
export const tableUrl = (name, kind) => `${base()}/retrieval/table/${part(name)}.${kind}`;

/** What the section "Mistakes" asks: severity, training, classes, queries or baseline. */
export const mistakes = (what, asked) => ask(`retrieval/mistakes/${what}`, asked);
/** Address of a table: severity, training, classes, confusions or queries. */
export function mistakesUrl(table, asked) {
  const given = Object.entries(asked).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `${base()}/retrieval/mistakes/${table}.csv?${new URLSearchParams(given)}`;
}

/** What the section "What did it look at?" asks; the reply of `measure` is as that of `search`, with its work below `MEASURED`. */
export const measure = (asked) => ask("retrieval/background/measure", asked);
export const MEASURED = "retrieval/background/job";
/** Address of the numbers of a measurement as CSV. */
export const measuredUrl = (key) => `${base()}/retrieval/background/${part(key)}/numbers.csv`;
