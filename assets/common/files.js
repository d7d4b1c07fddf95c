// Files made by the page: saved under a name, and tables as CSV.

import { el } from "./dom.js";

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Save a canvas. */
export const savePng = (canvas, name) => canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");

/** Save rows of cells, the first row being the head. */
export function saveCsv(rows, name) {
  const text = rows.map((cells) => cells.map(cell).join(",")).join("\r\n");
  save(new Blob([`${text}\r\n`], { type: "text/csv" }), name);
}

/** Quoted where needed; a text that a spreadsheet would run as a formula gets a quote in front. */
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : String(value);
  return quoted(text);
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of texts as CSV that a program reads back. */
export const csv = (rows) => rows.map((cells) => `${cells.map(quoted).join(",")}\n`).join("");

const offered = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

/** Files can be dropped on `node`; what is dropped goes to `accept(dataTransfer)`. */
export function acceptDrops(node, accept) {
  node.addEventListener("dragover", (event) => {
    if (!offered(event)) return;
    event.preventDefault();
    node.classList.add("rs-dropping");
  });
  node.addEventListener("dragleave", (event) => node.contains(event.relatedTarget) || node.classList.remove("rs-dropping"));
  node.addEventListener("drop", (event) => {
    if (!offered(event)) return;
    event.preventDefault();
    node.classList.remove("rs-dropping");
    accept(event.dataTransfer);
  });
}

/**
 * Files that are dropped where nothing accepts them go to the node that `otherwise()` returns, if any, and are never
 * opened in place of the page; while they are dragged `<body>` has a class.
 */
export function guardDrops(otherwise) {
  const over = (now) => document.body.classList.toggle("rs-dragging", now);
  window.addEventListener("dragover", (event) => {
    if (!offered(event)) return;
    over(true);
    if (event.defaultPrevented) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = otherwise() ? "copy" : "none";
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget || over(false));
  window.addEventListener("drop", (event) => {
    over(false);
    if (!offered(event) || event.defaultPrevented) return;
    event.preventDefault();
    otherwise()?.dispatchEvent(new DragEvent("drop", { dataTransfer: event.dataTransfer, cancelable: true }));
  });
}

/** Image files can be dropped on `node`, and pasted anywhere while it is on screen; each goes to `accept(file)`. */
export function acceptFiles(node, accept) {
  acceptDrops(node, ({ files }) => files[0] && accept(files[0]));
  window.addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find((pasted) => pasted.type.startsWith("image/"));
    if (file && node.offsetParent !== null) accept(file);
  });
}
