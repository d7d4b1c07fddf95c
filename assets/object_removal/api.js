// What the tab "Remove an object" asks of the server. Every reply is a promise; every failure is a sentence.

import { base, ServerError } from "../common/api.js";

const SILENT = "The server does not answer. Check that it still runs, then try again.";

async function ask(path, options = {}) {
  let reply;
  try {
    reply = await fetch(`${base()}/objects/${path}`, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(SILENT, 0);
  }
  if (reply.ok) return reply.json();
  let sentence = `The server answered ${reply.status}.`;
  try {
    sentence = (await reply.json()).error ?? sentence;
  } catch {
    // not JSON: keep the general sentence
  }
  throw new ServerError(sentence, reply.status);
}

const post = (path, content) => ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });
const part = encodeURIComponent;

export const start = () => ask("start");
/** `ticket`: hexadecimal digits of one's own, under which `opening` tells how far it is and `leave` gives it up. */
export const open = (source, captionsFrom, ticket) => post("open", { source, ticket, ...(captionsFrom && { captions_from: captionsFrom }) });
export const opening = (ticket) => ask(`open/${ticket}`);
export const leave = (ticket) => post(`open/${ticket}/leave`, {});
export const photos = (set, offset, count) => ask(`photos/${part(set)}?offset=${offset}&count=${count}`);
export const photo = (ref) => ask(`photo/${part(ref)}`);
export const detectors = () => ask("detectors");
export const detect = (ref, detector) => post("detect", { photo: ref, detector });
export const nameIt = (ref, box, model) => post("name", { photo: ref, box, model });
export const answers = (asked) => post("ask", asked);
export const read = (set, models) => post("read", { set, models });
export const reading = () => ask("reading");
export const measure = (asked) => post("score", asked);
export const job = (id) => ask(`score/${part(id)}`);
export const stopJob = (id) => post(`score/${part(id)}/stop`, {});
export const runs = () => ask("runs");
export const neighbours = (asked) => post("neighbours", asked);

/** The bytes of an image file, unchanged; the reply is that of `photo`. */
export function upload(file) {
  const name = part(file.name ?? "").slice(0, 200); // a header holds ASCII alone
  const headers = { "content-type": "application/octet-stream", ...(name && { "x-rankscope-name": name }) };
  return ask("upload", { method: "POST", headers, body: file });
}

export const imageUrl = (ref, side) => `${base()}/objects/photo/${part(ref)}/image?side=${side}`;
export const filledUrl = (key) => `${base()}/objects/filled/${part(key)}`;
export const csvUrl = (id) => `${base()}/objects/score/${part(id)}/csv`;
export const runPhotoUrl = (run, index, side) => `${base()}/objects/runphoto/${part(run)}/${index}?side=${side}`;

const PAUSE = 60; // ms: several changes of one gesture are asked once

/** At most one question is under way; while it is, only the newest of those that come is kept. */
export class Newest {
  /** `work(question)` is a promise; `done(reply, question)` and `failed(error, question)` hear of the newest alone. */
  constructor(work, done, failed) {
    Object.assign(this, { work, done, failed, next: null, running: false });
  }

  ask(question) {
    this.next = question;
    clearTimeout(this.timer);
    if (!this.running) this.timer = setTimeout(() => this.turn(), PAUSE);
  }

  /** Nothing that is under way matters any more. */
  forget() {
    clearTimeout(this.timer);
    this.next = null;
    this.current = null;
  }

  async turn() {
    const question = (this.current = this.next);
    this.next = null;
    this.running = true;
    const fresh = () => this.next === null && this.current === question;
    try {
      const reply = await this.work(question);
      if (fresh()) this.done(reply, question);
    } catch (error) {
      if (fresh()) this.failed(error, question);
    } finally {
      this.running = false;
      if (this.next !== null) this.turn();
    }
  }
}
