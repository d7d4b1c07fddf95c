// Images of one's own, dropped on the images box or chosen there: a folder, images, or a zip file. They are sent in pieces.

import { post, postBytes } from "../common/api.js";
import { el, grouped, say } from "../common/dom.js";
import { button, Problem } from "../common/fields.js";
import { acceptDrops } from "../common/files.js";

const MEGABYTE = 1e6;
const SHOWN = 150; // ms between two numbers of the progress

export class Drop {
  /** `limits` as the server tells them; `area`: where files may be dropped; `on`: {begun(), arrived(source), opened(run)}. */
  constructor(limits, area, on) {
    Object.assign(this, { limits, on });
    const chosen = (input) => this.send([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    const chooser = (more) => {
      const input = el("input", { type: "file", multiple: "", class: "rs-unseen", tabindex: "-1", "aria-hidden": "true", ...more });
      input.addEventListener("change", () => {
        chosen(input);
        input.value = "";
      });
      return input;
    };
    const folder = chooser({ webkitdirectory: "" });
    const files = chooser({ accept: limits.endings.join(",") });
    this.ask = el("p", { class: "rs-help", text: `Or drop a folder or a zip file of your images on the page.${limits.runs ? " A downloaded run (zip) or files of embeddings (npy, npz, parquet, csv, tsv, safetensors, pt, h5 and others), with their labels beside them, open as runs." : ""}` });
    this.choices = el("div", { class: "rs-flow rs-actrow" }, button("Choose a folder", () => folder.click()), button("Choose files", () => files.click()), folder, files);
    this.said = el("p", { class: "rs-help", role: "status" });
    this.cancel = button("Cancel", () => this.stop());
    this.progress = el("div", { class: "rs-stack rs-tight", hidden: true }, this.bar = el("progress", { class: "rs-progress", max: "1", "aria-label": "Sending the images" }), this.cancel);
    this.problem = new Problem();
    this.node = el("div", { class: "rs-stack rs-tight rs-ownimages" }, this.ask, this.choices, this.said, this.progress, this.problem.node);
    acceptDrops(area, (given) => this.take(given));
  }

  async take(given) {
    const entries = [...given.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const files = entries.length ? (await Promise.all(entries.map((entry) => below(entry, "")))).flat() : [...given.files].map((file) => ({ file, path: file.name }));
    this.send(files);
  }

  /** Send files with their paths, and say how far it is. */
  async send(every) {
    this.on.begun();
    const wanted = every.filter(({ path }) => this.limits.endings.some((end) => path.toLowerCase().endsWith(end)) && !path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX"));
    const total = wanted.reduce((sum, { file }) => sum + file.size, 0);
    const wrong = this.refusal(every, wanted, total);
    this.problem.say(wrong);
    if (wrong) return;
    this.stop();
    const turn = new AbortController();
    this.turn = turn;
    this.working(true);
    let id = null;
    try {
      ({ id } = await post("form/dropping", { action: "begin" }));
      let sent = 0;
      let shown = 0;
      for (const batch of batches(wanted, this.limits)) {
        turn.signal.throwIfAborted();
        await postBytes("form/drop", packed(id, batch), turn.signal);
        sent += batch.reduce((sum, { size }) => sum + size, 0);
        this.bar.value = total ? sent / total : 1;
        if (performance.now() - shown < SHOWN) continue;
        shown = performance.now();
        say(this.said, `Sending ${words(wanted.length, total)}: ${(sent / MEGABYTE).toFixed(1)} MB so far.`);
      }
      say(this.said, "Reading what arrived …");
      const { source, run } = await post("form/dropping", { action: "end", id });
      id = null;
      say(this.said, `${words(wanted.length, total)}${every.length > wanted.length ? `; ${grouped(every.length - wanted.length)} other files were left out` : ""}.`);
      if (run) this.on.opened(run);
      else this.on.arrived(source);
    } catch (error) {
      if (!turn.signal.aborted) {
        this.problem.say(error.message);
        say(this.said, "");
      }
    } finally {
      if (id) post("form/dropping", { action: "cancel", id }).catch(() => {});
      if (this.turn === turn) this.working(false);
    }
  }

  /** Why these files cannot be sent; nothing: they can. */
  refusal(every, wanted, total) {
    const { size, files, endings } = this.limits;
    if (!wanted.length) return `No image or zip file that can be read was among what was dropped. Images end in ${endings.slice(0, 4).join(", ")} and the like.`;
    if (total > size) return `Up to ${grouped(size / MEGABYTE)} MB can be dropped here; these are ${words(wanted.length, total)}.`;
    return wanted.length > files ? `Up to ${grouped(files)} files can be dropped here; these are ${grouped(wanted.length)}. Put them into a zip file.` : "";
  }

  stop() {
    if (!this.turn) return;
    this.turn.abort();
    this.working(false);
    say(this.said, "Cancelled; nothing was kept.");
  }

  working(now) {
    if (!now) this.turn = null;
    this.bar.value = 0;
    this.progress.hidden = !now;
    this.choices.hidden = now;
  }
}

const words = (count, bytes) => `${grouped(count)} ${count === 1 ? "file" : "files"}, ${Math.max(0.1, bytes / MEGABYTE).toFixed(1)} MB`;

/** The files below an entry of what was dropped, with their paths. */
async function below(entry, above) {
  const path = `${above}${entry.name}`;
  if (entry.isFile) return [{ file: await new Promise((got, failed) => entry.file(got, failed)), path }];
  const reader = entry.createReader();
  const files = [];
  for (;;) { // a reader gives a hundred at a time
    const some = await new Promise((got, failed) => reader.readEntries(got, failed));
    if (!some.length) return files;
    for (const child of some) files.push(...await below(child, `${path}/`));
  }
}

/** Pieces of files in groups of which each fits a request: {file, path, at, size}. */
function* batches(files, { piece, pieces }) {
  let batch = [];
  let room = piece;
  for (const { file, path } of files) {
    let at = 0;
    do {
      const size = Math.min(file.size - at, room);
      batch.push({ file, path, at, size });
      at += size;
      room -= size;
      if (room <= 0 || batch.length >= pieces) {
        yield batch;
        batch = [];
        room = piece;
      }
    } while (at < file.size);
  }
  if (batch.length) yield batch;
}

/** A request: the length of its head in four bytes, the head, and the pieces. */
function packed(id, batch) {
  const head = new TextEncoder().encode(JSON.stringify({ id, files: batch.map(({ path, at, size }) => ({ path, at, size })) }));
  const length = new DataView(new ArrayBuffer(4));
  length.setUint32(0, head.length);
  return new Blob([length.buffer, head, ...batch.map(({ file, at, size }) => file.slice(at, at + size))]);
}
