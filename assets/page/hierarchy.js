// Where superclasses come from, what they are, and the way to the editor that changes them.

import { el } from "../common/dom.js";
import { button } from "../common/fields.js";
import { read } from "./class_csv.js";
import { ClassEditor } from "./class_editor.js";
import { DROPPED, treeOf } from "./class_tree.js";
import { entry } from "./entries.js";

const SHOWN = 5;

/**
 * The node has `update(tree)`, for what somebody saw who looked at the images: {levels, classes: [[class, superclass,
 * ...]], images: [of each class], dropped: [[class, images]], more}.
 */
export function hierarchy(field, value, changed, entries, first) {
  const all = entries.map((entry) => (entry.name === "mapping" ? { ...entry, fields: entry.fields.map((each) => ({ ...each, control: "file" })) } : entry));
  let now = value;
  const set = (next, name) => {
    now = next;
    changed(next, name);
  };
  let chosen = entry(field, value, set, all);
  const open = () => {
    const parameters = chosen.querySelector("details");
    if (parameters && now.name !== field.default.name) parameters.open = true;
  };
  chosen.querySelector("select").addEventListener("change", open);
  open();
  const given = el("ul", { class: "rs-help rs-stack rs-tight", "aria-label": "Superclasses with their classes" });
  let tree = null;
  const editor = new ClassEditor((table) => {
    set({ name: "mapping", parameters: { table } }, "mapping");
    const { id } = chosen.querySelector("select"); // that the label of the field names
    const anew = entry(field, now, set, all);
    anew.querySelector("select").id = id;
    anew.querySelector("select").addEventListener("change", open);
    chosen.replaceWith(anew);
    chosen = anew;
  });
  const edit = button("Group and change them by hand", () => editor.open(...begun(tree, now)));
  const many = el("p", { class: "rs-help" });
  const node = el("div", { class: "rs-stack rs-superclasses" }, chosen, given, el("div", { class: "rs-flow" }, edit), many, editor.node);
  node.update = (next) => {
    tree = next;
    given.replaceChildren(...groups(tree));
    given.hidden = !given.firstChild;
    // classes that are made of the names of files are those of no label, to which a table could give others
    edit.hidden = !tree?.classes?.length || now.parameters.of === "files" || tree.more > 0;
    many.hidden = !tree?.more;
    many.textContent = tree?.more ? `${tree.classes.length + tree.more} classes are too many to change here. Write a table of classes and superclasses.` : "";
  };
  node.update(first);
  return node;
}

/** What the editor begins with, and what is to be said of it: the table that is chosen, else what was read. */
function begun({ levels, classes, images, dropped = [] }, { name, parameters }) {
  const rows = [...classes.map((row, i) => [row, images[i]]), ...dropped.map(([gone, count]) => [[gone, ...Array(Math.max(1, levels.length - 1)).fill(DROPPED)], images.length ? count : null])];
  rows.sort(([[a]], [[b]]) => (a < b ? -1 : 1));
  if (name === "mapping" && parameters.table?.includes("\n")) {
    try {
      const { tree, said } = read(parameters.table, rows.map(([[each], count]) => ({ name: each, images: count ?? null })));
      return [tree, said.join(" ")];
    } catch {
      // a table that is refused, or no CSV: what was read before it
    }
  }
  return [treeOf(levels, rows.map(([row]) => row), rows.map(([, count]) => count)), ""];
}

/** The superclasses with some of their classes. */
function groups(tree) {
  if (!(tree?.levels?.length > 1)) return [];
  const members = new Map();
  for (const row of tree.classes) members.set(row[1], [...(members.get(row[1]) ?? []), row]);
  const lines = [...members].slice(0, SHOWN).map(([name, rows]) => {
    const more = rows.length > SHOWN ? ` and ${rows.length - SHOWN} more` : "";
    return el("li", { text: `${name}: ${rows.slice(0, SHOWN).map((row) => row[0]).join(", ")}${more}` });
  });
  const rest = members.size > SHOWN ? [el("li", { text: `and ${members.size - SHOWN} more` })] : [];
  return [...lines, ...rest];
}
