// Where superclasses come from, what they are, and a table to change them by hand: put together, split, renamed.

import { post } from "../common/api.js";
import { el } from "../common/dom.js";
import { csv, saveCsv } from "../common/files.js";
import { button, field as named, fold, number, Problem, text } from "../common/fields.js";
import { entry } from "./entries.js";

const SHOWN = 5;

/**
 * The node has `update(tree)`, for what somebody saw who looked at the images: {levels, classes: [[class, superclass,
 * ...]], more}.
 */
export function hierarchy(field, value, changed, entries, first) {
  const all = entries.map((one) => (one.name === "mapping" ? { ...one, fields: one.fields.map((each) => ({ ...each, control: "file" })) } : one));
  let now = value;
  const set = (next, name) => {
    now = next;
    changed(next, name);
  };
  const chosen = entry(field, value, set, all);
  const open = () => {
    const parameters = chosen.querySelector("details");
    if (parameters && now.name !== field.default.name) parameters.open = true;
  };
  chosen.querySelector("select").addEventListener("change", open);
  open();
  const given = el("ul", { class: "rs-help rs-stack rs-tight", "aria-label": "Superclasses with their classes" });
  const rows = el("div", { class: "rs-fields" });
  const edit = fold("Change them by hand", rows);
  let tree = null;
  const draw = () => edit.open && tree && rows.replaceChildren(...table(tree, (written) => set({ name: "mapping", parameters: { table: written } }, "mapping")));
  edit.addEventListener("toggle", draw);
  const node = el("div", { class: "rs-stack rs-superclasses" }, chosen, given, edit);
  node.update = (next) => {
    tree = next;
    given.replaceChildren(...groups(tree));
    given.hidden = !given.firstChild;
    // classes that are made of the names of files are those of no label, to which a table could give others
    edit.hidden = !tree?.classes?.length || now.parameters.of === "files";
    if (!rows.contains(document.activeElement)) draw();
  };
  node.update(first);
  return node;
}

/** The superclasses with some of their classes. */
function groups(tree) {
  if (!(tree?.levels?.length > 1)) return [];
  const { classes } = tree;
  const members = grouped(classes);
  const lines = [...members].slice(0, SHOWN).map(([name, rows]) => {
    const more = rows.length > SHOWN ? ` and ${rows.length - SHOWN} more` : "";
    return el("li", { text: `${name}: ${rows.slice(0, SHOWN).map((row) => row[0]).join(", ")}${more}` });
  });
  const rest = members.size > SHOWN ? [el("li", { text: `and ${members.size - SHOWN} more` })] : [];
  return [...lines, ...rest];
}

function grouped(classes) {
  const members = new Map();
  for (const row of classes) members.set(row[1], [...(members.get(row[1]) ?? []), row]);
  return members;
}

/** The rows to change: a superclass for each class, and one for all that are ticked. */
function table({ classes, levels, more }, changed) {
  if (more) return [el("p", { class: "rs-help", text: `${classes.length + more} classes are too many to change here. Write a table of classes and superclasses.` })];
  const rows = classes.map(([name, above = "", ...higher]) => {
    const tick = el("input", { type: "checkbox", "aria-label": `Choose ${name}` });
    const parent = text("superclass", { value: above, "aria-label": `Superclass of ${name}`, maxlength: 200 });
    return { name, higher, above, tick, parent };
  });
  const body = rows.map(({ name, tick, parent }) => el("tr", {}, el("td", {}, tick), el("th", { scope: "row", text: name }), el("td", {}, parent)));
  const head = el("tr", {}, el("td"), el("th", { scope: "col", text: levels[0] }), el("th", { scope: "col", text: levels[1] ?? "superclass" }));
  const together = text("superclass", { maxlength: 200 });
  const made = () => [[levels[0], levels[1] ?? "superclass", ...levels.slice(2)], ...rows.map(({ name, parent, higher, above }) => [name, parent.value.trim(), ...moved(rows, parent.value.trim(), above, higher)])];
  const give = button("Give it to them", () => {
    for (const { tick, parent } of rows) if (tick.checked) Object.assign(parent, { value: together.value.trim() });
    for (const { tick } of rows) tick.checked = false;
  });
  return [
    ...(rows.length > 2 ? similar(rows) : []),
    el("p", { class: "rs-help", text: "The same superclass puts classes together, another one splits them off." }),
    el("div", { class: "rs-tablebox rs-hierarchy", tabindex: 0, role: "region", "aria-label": "Classes and superclasses" }, el("table", { class: "rs-table" }, el("thead", {}, head), el("tbody", {}, ...body))),
    named("Superclass of the ticked classes", together),
    el("div", { class: "rs-hierarchyacts" }, give),
    el("div", { class: "rs-hierarchyacts" }, button("Use this table", () => changed(csv(made()))), button("Download as CSV", () => saveCsv(made(), "superclasses.csv"))),
  ];
}

/** A first draft: classes with similar names put together by a text tower, to be changed. */
function similar(rows) {
  const count = number(Math.max(2, Math.round(Math.sqrt(rows.length))), 2, rows.length - 1);
  const problem = new Problem();
  const group = button("Group similar names", async () => {
    group.disabled = true;
    problem.say(null);
    try {
      const { groups, problem: wrong } = await post("form/groups", { classes: rows.map(({ name }) => name), count: Number(count.value) });
      problem.say(wrong);
      groups?.forEach((name, i) => Object.assign(rows[i].parent, { value: name }));
    } catch (error) {
      problem.say(error.message);
    } finally {
      group.disabled = false;
    }
  });
  return [named("Number of superclasses", count), el("div", { class: "rs-hierarchyacts" }, group), problem.node];
}

/** What is above a superclass: as it was, or as of the other classes that had it before. */
function moved(rows, name, before, higher) {
  if (name === before) return higher;
  return rows.find(({ above }) => above === name)?.higher ?? higher;
}
