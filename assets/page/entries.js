// Entries of a registry with their parameters: one of them, or the arms of a comparison.

import { el, swatch } from "../common/dom.js";
import { button, choose, fold, whyGrey } from "../common/fields.js";
import { inSentence } from "../common/names.js";
import { labelled, PLAIN } from "./controls.js";

/** One entry: {name, parameters}, of which only those that differ from their defaults are kept. */
export function entry(field, value, changed, entries) {
  const offered = entries.filter(({ name }) => !field.offered || field.offered.includes(name) || name === value.name); // that of an earlier run stays
  const kept = new Map([[value.name, value.parameters]]); // of those chosen before: they come back with them
  const menu = el("select", { class: "rs-input", onchange: () => take(menu.value) });
  choose(menu, offered);
  const more = el("div", { class: "rs-entrymore" });
  const sentence = field.most ? [] : [el("p", { class: "rs-help" })]; // among arms it stands in the fold
  const node = el("div", { class: "rs-entry" }, menu, ...sentence, more);
  let now = value;
  const take = (name) => {
    now = { name, parameters: kept.get(name) ?? {} };
    changed(now, name);
    show();
  };
  const show = () => {
    const about = offered.find(({ name }) => name === now.name);
    menu.value = now.name;
    for (const line of sentence) line.textContent = about?.sentence ?? "";
    more.replaceChildren(...(about ? [parameters(about, now, !sentence.length, (values) => {
      now = { name: about.name, parameters: values };
      kept.set(about.name, values);
      changed(now);
    })] : []), ...whyGrey(offered));
  };
  show();
  return node;
}

/** The fold of an entry's parameters, made when it is opened; `explained`: with the entry's sentence. */
export function parameters(about, { parameters: given }, explained, changed, title = "Parameters") {
  const values = { ...given };
  const body = el("div", { class: "rs-fields" });
  const head = fold(title, body);
  const draw = () => body.replaceChildren(
    ...(explained ? [el("p", { class: "rs-help", text: about.sentence })] : []),
    ...(about.fields.length ? about.fields.map((field) => labelled(field, PLAIN[field.control](field, values[field.name] ?? field.default, (value) => {
      if (JSON.stringify(value) === JSON.stringify(field.default)) delete values[field.name];
      else values[field.name] = value;
      changed({ ...values });
    }))) : [el("p", { class: "rs-help", text: "It has no parameters." })]),
  );
  head.addEventListener("toggle", () => head.open && !body.firstChild && draw());
  return head;
}

/** The arms of a comparison, each in its colour. */
export function arms(field, value, changed, entries) {
  const word = inSentence(field.label);
  const node = el("div", { class: "rs-arms" });
  let chosen = value;
  const set = (next, redraw) => {
    chosen = next;
    changed(next);
    if (redraw) draw();
  };
  const draw = (focus = null) => {
    const slots = chosen.map((one, arm) => {
      const made = entry(field, one, (now) => set(chosen.with(arm, now), false), entries);
      const menu = made.querySelector("select");
      menu.setAttribute("aria-label", `${field.label} ${arm + 1}`);
      menu.after(button("×", () => { set(chosen.toSpliced(arm, 1), true); node.querySelector(".rs-arm select")?.focus(); }, "rs-drop"));
      const drop = made.querySelector(".rs-drop");
      drop.setAttribute("aria-label", `Remove ${word} ${arm + 1}`);
      drop.hidden = chosen.length < 2;
      return el("div", { class: "rs-arm", role: "group", "aria-label": `${field.label} ${arm + 1} with its parameters` }, swatch(arm), made);
    });
    const add = button(`Add a ${word}`, () => { set([...chosen, { name: next(), parameters: {} }], false); draw(chosen.length - 1); });
    add.hidden = chosen.length >= field.most;
    node.replaceChildren(...slots, add);
    if (focus !== null) node.querySelectorAll(".rs-arm select")[focus]?.focus();
  };
  const next = () => {
    const taken = new Set(chosen.map(({ name }) => name));
    const names = [...field.added, ...entries.map(({ name }) => name)];
    return names.find((name) => !taken.has(name) && entries.some((each) => each.name === name && !each.missing)) ?? chosen[0].name;
  };
  draw();
  return node;
}
