// Requests to the server, and what the page reads of runs, with small bounded caches.

import { brief } from "./names.js";
import { store, stored } from "./storage.js";

/** Where the page stands, as this browser sees it: behind a proxy the server does not know. */
export const root = () => new URL(".", document.baseURI).href.replace(/\/$/, "");

export const base = () => `${root()}/gradio_api/rankscope`;

/** A failed request; its message is a sentence that can be shown. */
export class ServerError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The server's reply to `path`; a failure is a ServerError, with status 0 where there was no reply. */
async function request(path, options = {}) {
  let reply;
  try {
    reply = await fetch(`${base()}/${path}`, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not answer. Check that it still runs, then try again.", 0);
  }
  if (reply.ok) return reply;
  let sentence = `The server answered ${reply.status}.`;
  try {
    sentence = (await reply.json()).error ?? sentence;
  } catch {
    // not JSON: keep the general sentence
  }
  throw new ServerError(sentence, reply.status);
}

/** The content of a reply in JSON. */
export const json = async (path, options) => (await request(path, options)).json();

/** Ask the server something in a body; it changes nothing, so it is sent in nobody's name. */
export const ask = (path, values) => json(path, { method: "POST", body: JSON.stringify(values), headers: { "content-type": "application/json" } });

/** Send values to the server, as the visitor with this token. */
export const post = (path, values) =>
  json(path, { method: "POST", body: JSON.stringify(values), headers: { "content-type": "application/json", "x-rankscope-token": token() } });

/** Send bytes to the server. */
export const postBytes = (path, body, signal) =>
  json(path, { method: "POST", body, signal, headers: { "content-type": "application/octet-stream", "x-rankscope-token": token() } });

/** A bounded cache: the least recently used entries are dropped when the sum of sizes exceeds `limit`. */
class Cache {
  constructor(limit) {
    this.limit = limit;
    this.size = 0;
    this.entries = new Map();
  }

  get(key) {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  set(key, value, size) {
    this.drop(key);
    this.entries.set(key, { value, size });
    this.size += size;
    for (const oldest of this.entries.keys()) {
      if (this.size <= this.limit || this.entries.size === 1) break;
      this.drop(oldest);
    }
  }

  drop(key) {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.size -= entry.size;
    this.entries.delete(key);
  }
}

const FRAME_BYTES = 24 * 1024 * 1024;
const frames = new Cache(FRAME_BYTES);
const lists = new Cache(300);
const pending = new Map();

/** Where a plan stands; see explorer/tabs/compare/reports.py. */
export async function plan(id) {
  if (!/^\w+$/.test(id)) throw new ServerError(`There is no run ${brief(id)}.`, 404);
  return json(`plan/${id}`, { headers: { "x-rankscope-token": token() } });
}
export const start = async () => (await json("start", { headers: { "x-rankscope-token": token() } })).id;
/** A run, by the id that an address or a list gives. */
export async function run(id) {
  if (!/^\w+$/.test(id)) throw new ServerError(`There is no run ${brief(id)}.`, 404);
  return json(`run/${id}`);
}
/** Ask for more epochs of a run's last map. */
export const refine = (id) => post(`run/${id}/refine`, {});
/** What is new of a run beyond a frame and a row of its numbers: all of the numbers, so that none but the newest is shown as the newest. */
export async function poll(id, after, row) {
  const [metrics, maps, keys] = [[], { rows: [], keys: {} }, {}];
  for (;;) {
    const news = await json(`run/${id}/poll?after=${after}&row=${row}`);
    metrics.push(...news.metrics);
    maps.rows.push(...news.maps.rows);
    Object.assign(keys, news.keys);
    Object.assign(maps.keys, news.maps.keys);
    row = news.row;
    if (!news.more) return { ...news, metrics, keys, maps };
  }
}
/** The runs that can be the baseline of a run, and what is new of the numbers of one; see explorer/server/baselines.py. */
export const baselines = async (id) => (await json(`run/${id}/baselines`)).runs;
export const baseline = (id, other, row) => json(`run/${id}/baseline/${other}?row=${row}`);

/** Frame k: {k, step, limit, refined, arms: [{quality, drift, method, floor, measures, remarks}], coords: [Uint16Array per arm]}. */
export function frame(id, k, info = null) {
  const key = `${id}/${k}`;
  const known = frames.get(key);
  if (known) return Promise.resolve(known);
  if (pending.has(key)) return pending.get(key);
  const promise = fetchFrame(id, k, info).finally(() => pending.delete(key));
  pending.set(key, promise);
  return promise;
}

async function fetchFrame(id, k, info) {
  const [about, buffer] = await Promise.all([
    info ?? json(`run/${id}/frameinfo/${k}`),
    request(`run/${id}/frame/${k}`).then((reply) => reply.arrayBuffer()),
  ]);
  const arms = about.arms.length;
  const each = buffer.byteLength / 2 / arms;
  const coords = about.arms.map((_, arm) => new Uint16Array(buffer, arm * each * 2, each));
  const whole = { ...about, coords };
  frames.set(`${id}/${k}`, whole, buffer.byteLength);
  return whole;
}

export async function neighbours(id, k, index, signal) {
  const key = `${id}/${k}/${index}`;
  const known = lists.get(key);
  if (known) return known;
  const reply = await json(`run/${id}/neighbours/${k}/${index}`, { signal });
  lists.set(key, reply, 1);
  return reply;
}

/** Where the images of the maps come from: {part, rows, files}; no files if they have none. */
export const files = (id) => json(`run/${id}/files`);

/** The image about which the losses differ most at frame k. */
export const suggestion = async (id, k) => (await json(`run/${id}/suggestion/${k}`)).index;

export const sheetUrl = (id, n) => `${base()}/run/${id}/sheet/${n}.webp`;
export const downloadUrl = (id, kind) => `${base()}/run/${id}/download/${kind}`;

/** 32 random hexadecimal digits. */
export const randomHex = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const TOKEN = "rankscope-token";

/** The visitor's own token, which proves which runs are theirs; it is sent to this server alone. */
export function token() {
  const known = stored(TOKEN);
  if (known) return known;
  const made = randomHex();
  return store(TOKEN, made) ? made : ""; // storage is switched off: runs then have no owner
}

window.rankscopeToken = token; // for the events of Gradio's components
