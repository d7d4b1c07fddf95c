// Form fields: each a label above a native control, so that keyboard, touch and screen readers know them.

import { el, icon, say } from "./dom.js";

let count = 0;

/** A control under its name. */
export function field(name, control, more = {}) {
  return el("label", { class: "rs-field", ...more }, el("span", { class: "rs-note rs-fieldname", text: name }), control);
}

/** Fields from a table {name: [title, control]}: the `controls` by name, and the `labels` around them in order. */
export function fields(table, more = {}) {
  const controls = Object.fromEntries(Object.entries(table).map(([name, [, control]]) => [name, control]));
  return { controls, labels: Object.values(table).map(([title, control]) => field(title, control, more)) };
}

/** What controls hold, by name: null where a field is empty, a number where it takes one, whether a box is ticked. */
export function valuesOf(controls) {
  return Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, valueOf(control)]));
}

function valueOf({ type, value, checked }) {
  if (type === "checkbox") return checked;
  if (value === "") return null;
  return type === "number" ? Number(value) : value;
}

/** A list of choices [{name, title, missing: why it cannot be taken, disabled, family}], those of a family under its name; `changed(name)`. */
export function select(changed, choices = [], chosen = null) {
  const node = el("select", { class: "rs-input", onchange: () => changed(node.value) });
  choose(node, choices, chosen);
  return node;
}

export function choose(node, choices, chosen) {
  const families = new Map();
  for (const each of choices) families.set(each.family ?? "", [...(families.get(each.family ?? "") ?? []), each]);
  node.replaceChildren(...[...families].flatMap(([family, within]) => {
    const options = within.map(({ name, title, missing, disabled }) => el("option", { value: name, text: missing ? `${title} (not available)` : title, disabled: Boolean(missing || disabled) }));
    return family ? [el("optgroup", { label: family }, ...options)] : options;
  }));
  if (chosen !== null && chosen !== undefined) node.value = chosen;
}

/** A line of text. */
export function text(placeholder, more = {}) {
  return el("input", { class: "rs-input", type: "text", placeholder, autocomplete: "off", spellcheck: "false", ...more });
}

/** Fields and a button in a row; Enter in a field presses the button. Returns the form. */
export function rowForm(fields, words, submitted) {
  const form = el("form", { class: "rs-inputrow" }, ...fields, el("button", { class: "rs-act", text: words }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submitted();
  });
  return form;
}

/** A whole or decimal number between two ends; what lies outside is brought back when the field is left. Begun as "", it
 * may be empty. */
export function number(value, low, high, step = 1, changed = () => {}) {
  const node = el("input", { class: "rs-input", type: "number", value, min: low, max: high, step, inputmode: "decimal" });
  node.addEventListener("change", () => {
    if (value === "" && !Number.isFinite(node.valueAsNumber)) {
      node.value = "";
      return;
    }
    const asked = Number.isFinite(node.valueAsNumber) ? node.valueAsNumber : value;
    node.value = Math.min(high, Math.max(low, asked));
    changed(Number(node.value));
  });
  return node;
}

/** Two or three ways of which one holds: [[value, text]]; the node has a `value`. */
export function segments(name, ways, chosen, changed) {
  count += 1;
  const group = `rs-segments-${count}`;
  const inputs = ways.map(([value, text]) => {
    const input = el("input", { type: "radio", name: group, value, class: "rs-unseen", checked: value === chosen });
    input.addEventListener("change", () => changed(value));
    return el("label", { class: "rs-segment" }, input, el("span", { text }));
  });
  const node = el("fieldset", { class: "rs-segments" }, el("legend", { class: "rs-unseen", text: name }), ...inputs);
  Object.defineProperty(node, "value", {
    get: () => node.querySelector("input:checked")?.value,
    set(value) {
      for (const input of node.querySelectorAll("input")) input.checked = input.value === value;
    },
  });
  return node;
}

/** A box to tick and its words, as one label; the box is `input`. */
export function checkbox(words, checked, changed) {
  const input = el("input", { type: "checkbox", checked, onchange: changed });
  return { input, node: el("label", { class: "rs-flow rs-check" }, input, el("span", { text: words })) };
}

export const button = (text, pressed, kind = "") => el("button", { type: "button", class: `rs-act ${kind}`, text, onclick: pressed });

/** A button with an icon alone: `label` says what it does. */
export const iconButton = (name, label, pressed, kind = "rs-iconbutton") => el("button", { type: "button", class: kind, "aria-label": label, title: label, onclick: pressed }, icon(name));

/** A slider with its value beside it; `words(value)` writes the value. */
export function slider(name, { value, low, high, step, words, changed = () => {} }) {
  const shown = el("output", { class: "rs-slidervalue" });
  const range = el("input", { type: "range", class: "rs-range", "aria-label": name, min: low, max: high, step, value }); // the label around both names the output
  const write = () => {
    say(shown, words(Number(range.value)));
    range.setAttribute("aria-valuetext", shown.textContent);
  };
  range.addEventListener("input", () => { write(); changed(Number(range.value)); });
  write();
  const node = el("label", { class: "rs-field rs-slider" }, el("span", { class: "rs-note rs-fieldname" }, `${name} `, shown), range);
  return { node, range, get value() { return Number(range.value); } };
}

/** A place for a sentence about what went wrong; empty while all is well. */
export class Problem {
  constructor() {
    this.node = el("p", { class: "rs-alert", role: "alert", hidden: true });
  }

  say(sentence) {
    this.node.hidden = !sentence;
    say(this.node, sentence ?? "");
  }
}

export function fold(title, ...body) {
  return el("details", { class: "rs-unfold" }, el("summary", { text: title }), ...body);
}

/** Why some of the choices of a list cannot be taken, in a fold; nothing where all can. */
export function whyGrey(choices) {
  const lacking = choices.filter(({ missing }) => missing);
  const reasons = [...new Set(lacking.map(({ missing }) => missing))].map((why) => [why, lacking.filter(({ missing }) => missing === why).map(({ title }) => title)]);
  return reasons.length ? [fold("Why some choices are grey", el("ul", { class: "rs-stack rs-help" }, ...reasons.map(([why, titles]) => el("li", { text: `${titles.join(", ")}: ${why}` }))))] : [];
}
