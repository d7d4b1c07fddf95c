// The table of classes and superclasses as CSV: read into a tree, with what is to be said of it.

import { DROPPED, REVIEWED, treeOf, UNSORTED } from "./class_tree.js";

export const MOST_BYTES = 200_000; // of a table that can be sent to the server with the other settings
const NAMED = 5;

/** Cells of CSV with commas, semicolons or tabs, whichever its first line has most of. */
export function cells(text) {
  const first = text.split("\n").find((line) => line.trim()) ?? "";
  const [mark] = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length);
  const rows = [];
  let [row, cell, quoted] = [[], "", false];
  const end = () => { row.push(cell); cell = ""; };
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (quoted && letter === '"' && text[at + 1] === '"') { cell += '"'; at += 1; } // a quote twice is one
    else if (letter === '"' && (quoted || !cell)) quoted = !quoted;
    else if (quoted) cell += letter;
    else if (letter === mark) end();
    else if (letter === "\n" || letter === "\r") { end(); rows.push(row); row = []; }
    else cell += letter;
  }
  end();
  rows.push(row);
  return rows.map((each) => each.map((cell) => cell.trim())).filter((each) => each.some(Boolean));
}

/** A tree for `classes` [{name, images}] of a table, and sentences: {tree, said}. Throws an error that is a sentence. */
export function read(text, classes) {
  const known = new Set(classes.map(({ name }) => name));
  const rows = cells(text.replace(/^\ufeff/, "")).map((row) => row.map((cell) => unquoted(cell, known)));
  const head = rows.length > 1 && !known.has(rows[0][0]) ? rows.shift() : [];
  const marked = head.at(-1) === REVIEWED ? head.length - 1 : null; // the column that is no level
  const width = marked ?? Math.max(...rows.map((row) => row.length));
  if (!rows.some(([name]) => known.has(name))) throw new Error("No row of this table begins with the name of a class of these images.");
  if (width < 2) throw new Error("A table needs two columns or more: class, superclass, and further levels.");
  const paths = new Map();
  const several = new Set();
  for (const row of rows) {
    if (paths.has(row[0]) && paths.get(row[0])[1] !== row[1]) several.add(row[0]);
    paths.set(row[0], row.slice(0, width));
  }
  const lacking = classes.filter(({ name }) => !paths.has(name)).map(({ name }) => name);
  const made = classes.map(({ name }) => {
    const above = paths.get(name)?.slice(1) ?? [];
    if (several.has(name) || above.includes(DROPPED)) return [name, ...Array(width - 1).fill(DROPPED)];
    return [name, ...Array.from({ length: width - 1 }, (_, i) => above[i] || UNSORTED)];
  });
  const levels = new Set(head.slice(0, width)).size === width ? head.slice(0, width) : ["class", "superclass", "top", ...Array.from({ length: width }, (_, i) => `level ${i + 4}`)].slice(0, width);
  const unknown = rows.filter(([name]) => !known.has(name)).map(([name]) => name);
  const said = [
    ["Dropped, with several superclasses", [...several]],
    [`In the group ${UNSORTED}, without a row`, lacking],
    ["In the table, without images", unknown],
  ].filter(([, names]) => names.length).map(([what, names]) => `${what}: ${some(names)}.`);
  return { tree: treeOf(levels, made, classes.map(({ images }) => images)), said };
}

const some = (names) => `${names.slice(0, NAMED).map((name) => name.slice(0, 60)).join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;

/** Without the quote that tables for spreadsheets have before what these would run. */
const unquoted = (text, known) => (/^'[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && !known.has(text) ? text.slice(1) : text);
