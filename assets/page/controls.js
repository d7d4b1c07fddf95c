// The fields of the sidebar's form: each described by the server (explorer/page/form/fields.py), drawn by its `control`.
// A control takes (field, value, changed) and returns the node that holds it, with an input in it that can be labelled.

import { el } from "../common/dom.js";
import { choose, text, whyGrey } from "../common/fields.js";
import { HubSearch } from "../common/hub_search.js";

let count = 0;
const PLACES = 100;

/** A control under its label, with the sentence that explains it. `changed(value)`. */
export function labelled(field, node) {
  count += 1;
  const id = `rs-field-${count}`;
  const input = node.matches("input, select") ? node : node.querySelector("input, select, textarea");
  if (input) input.id = id;
  if (field.help) input?.setAttribute("aria-describedby", `${id}-help`);
  return el("div", { class: "rs-formfield", "data-name": field.name },
    el("label", { for: id, text: field.label }),
    field.help ? el("p", { class: "rs-help", id: `${id}-help`, text: field.help }) : null,
    node);
}

/** The controls whose values are plain: by the name that the server gives them. */
export const PLAIN = { text: line, file: written, proposed, number, numbers, slider, check, select, words };

function line(field, value, changed) {
  return text(field.placeholder ?? "", { value: value ?? "", onchange: (event) => changed(event.target.value) });
}

/** Text of several lines, or that of a file. */
function written(field, value, changed) {
  const area = el("textarea", { class: "rs-input", rows: 4, spellcheck: "false", placeholder: "class,superclass", onchange: () => changed(area.value) });
  area.value = value ?? "";
  const file = el("input", { type: "file", accept: ".csv,.tsv,.json,.txt", "aria-label": `Open a file for ${field.label.toLowerCase()}` });
  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    area.value = await file.files[0].text();
    changed(area.value);
  });
  return el("div", { class: "rs-stack rs-tight" }, area, file);
}

/** A list beside a line of text: what is chosen in it is handed on, and its first entry stands there again. */
function offered(field, label, first, choices, take) {
  const list = el("select", { class: "rs-input", "aria-label": `${label} ${field.label.toLowerCase()}` });
  choose(list, [{ name: "", title: first }, ...choices], "");
  list.addEventListener("change", () => {
    if (list.value) take(list.value);
    list.value = "";
  });
  return list;
}

/** A word that may be any; those that are proposed stand in a list, and what is known of the one that is written below it. */
function proposed(field, value, changed) {
  const node = line(field, value, (word) => { tell(word); changed(word); });
  const about = el("p", { class: "rs-help" });
  const tell = (word) => { about.textContent = field.choices.find(({ name }) => name === word)?.title ?? ""; };
  const take = (name) => {
    node.value = name;
    node.dispatchEvent(new Event("change"));
  };
  const list = offered(field, "Published, for", "Published models …", field.choices, take);
  const search = new HubSearch(node, "models", (name) => take(`hf-hub:${name}`));
  tell(value);
  return el("div", { class: "rs-stack rs-tight" }, search.node, list, about, ...whyGrey(field.choices.map((each) => ({ ...each, title: each.name }))));
}

/** What was typed, as a number; text that is none is left for the server to name. */
function typed(input) {
  if (input.value.trim() === "") return null;
  const given = Number(input.value);
  return Number.isFinite(given) ? given : input.value;
}

function number(field, value, changed) {
  return text(field.optional ? "not set" : "", { value: value ?? "", inputmode: "decimal", onchange: (event) => changed(typed(event.target)) });
}

/** Numbers with commas between them; of a field that has further spellings the server reads the text. */
function numbers(field, value, changed) {
  if (field.spelled) return text("", { value: spelled(value), onchange: (event) => changed(event.target.value) });
  const read = ({ value: written }) => written.split(/[,;\s]+/).filter(Boolean).map((item) => (Number.isFinite(Number(item)) ? Number(item) : item));
  return text("", { value: (value ?? []).join(", "), onchange: (event) => changed(read(event.target)) });
}

/** A single number is followed by a comma: alone it would be how many there are. */
function spelled(value) {
  if (!Array.isArray(value)) return value ?? "";
  return value.length === 1 ? `${value[0]},` : value.join(", ");
}

function check(field, value, changed) {
  return el("input", { type: "checkbox", checked: value, onchange: (event) => changed(event.target.checked) });
}

function select(field, value, changed) {
  const node = el("select", { class: "rs-input", onchange: () => changed(field.choices[node.selectedIndex][0]) });
  choose(node, field.choices.map(([name, title]) => ({ name: String(name), title })), String(value));
  return node;
}

/** Words with commas between them; those that are known can be added from a list. */
function words(field, value, changed) {
  const read = (written) => written.split(",").map((word) => word.trim()).filter(Boolean);
  const node = text(field.detected || "none", { value: (value ?? []).join(", "), onchange: () => changed(read(node.value)) });
  if (!field.choices.length) return node;
  const add = offered(field, "Add to", "Add …", field.choices.map(([name, title]) => ({ name, title })), (name) => {
    node.value = [...new Set([...read(node.value), name])].join(", ");
    changed(read(node.value));
  });
  return el("div", { class: "rs-withlist" }, node, add);
}

/** A number with a slider under it. The number is taken as typed; what is out of range is named at the start. */
function slider(field, value, changed) {
  const { place, at, places } = field.log ? byFactors(field) : bySteps(field);
  const box = text("", { class: "rs-input rs-number", inputmode: "decimal", value: value ?? "" });
  const range = el("input", { type: "range", class: "rs-range", "aria-label": `${field.label}, slider`, min: 0, max: places, step: 1, value: place(Number(value)) });
  const announce = () => range.setAttribute("aria-valuetext", box.value);
  // the handle stays where it is put: moved to the rounded value it could never leave it by the arrow keys
  range.addEventListener("input", () => { box.value = at(Number(range.value)); announce(); changed(Number(box.value)); });
  box.addEventListener("change", () => { range.value = place(Number(box.value)); announce(); changed(typed(box)); });
  announce();
  return el("div", { class: "rs-slide" }, box, range);
}

function bySteps({ low, high, step }) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return {
    places: Math.round((high - low) / step),
    place: (value) => Math.round((value - low) / step),
    at: (place) => Number((low + place * step).toFixed(digits)),
  };
}

/** From a number to its place on the slider and back. With a zero the left end is nothing else. */
function byFactors({ low, high, zero, whole }) {
  const [start, span, first] = [Math.log(low), Math.log(high) - Math.log(low), zero ? 1 : 0];
  const tidy = (x) => (whole ? Math.round(x) : Number(x.toPrecision(2)));
  const part = (value) => (Math.log(value) - start) / span;
  return {
    places: PLACES,
    place: (value) => (value > 0 ? Math.round(Math.max(first, first + (PLACES - first) * part(value))) : 0),
    at: (place) => (place < first ? 0 : tidy(Math.exp(start + (span * (place - first)) / (PLACES - first)))),
  };
}
