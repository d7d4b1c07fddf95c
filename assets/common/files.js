// Files made by the page: saved under a name, and tables as CSV.

import { el } from "./dom.js";

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Save rows of cells, the first row being the head. */
export function saveCsv(rows, name) {
  const text = rows.map((cells) => cells.map(cell).join(",")).join("\r\n");
  save(new Blob([`${text}\r\n`], { type: "text/csv" }), name);
}

/** Quoted where needed; a text that a spreadsheet would run as a formula gets a quote in front. */
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
