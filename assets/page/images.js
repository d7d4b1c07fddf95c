// The images of a run: a dataset of the catalogue with its parameters, or a folder or Hub id, and what is in it.

import { el, say } from "../common/dom.js";
import { button, choose, field as labelledBy, text, whyGrey } from "../common/fields.js";
import { brief, coarseToFine } from "../common/names.js";
import { Drop } from "./drop.js";
import { parameters } from "./entries.js";
import { HubSearch } from "../common/hub_search.js";

const OTHER = "";
const DROPPED = "dropped/"; // how sources begin that name what was dropped here

/** The value is a source: `drawn`, `drawn:bias=0.9`, `a/folder`, `user/dataset`. `sources` are those of the catalogue. */
export function images(field, value, changed, { sources, folders, dropped }) {
  const [name, ...rest] = String(value ?? "").split(":");
  const known = sources.find((source) => source.name === name);
  const menu = el("select", { class: "rs-input" });
  const words = folders ? "Hub id, words, or a folder" : "Hub id, or words";
  choose(menu, [...sources, { name: OTHER, title: dropped ? "Your own, or from the Hub" : "From the Hub" }], known ? name : OTHER);
  const typed = text(words, { value: known || String(value).startsWith(DROPPED) ? "" : value, "aria-label": words, maxlength: 400 });
  let listed = known ? OTHER : value;
  const tell = (source) => { // leaving the line tells again what was taken from the list
    if (!source || source === listed) return;
    listed = source;
    changed(source, true);
  };
  const search = new HubSearch(typed, "datasets", tell);
  const advanced = el("div", {});
  const own = button(dropped ? "Your images" : "Hub", () => {
    menu.value = OTHER;
    menu.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const node = el("div", { class: "rs-fields rs-imagesbox" }, el("div", { class: "rs-flow rs-imagesrow" }, menu, own), search.node);
  let before = menu.value;
  const begun = () => {
    before = menu.value;
    menu.value = OTHER;
    typed.value = "";
    draw({});
    document.querySelector("#rs-sidebar:not(.open) .toggle-button")?.click(); // they may have been dropped elsewhere
    node.scrollIntoView({ block: "nearest" });
  };
  const opened = (run) => { // no images came: the form is as it was
    menu.value = before;
    draw({});
    window.rankscope?.show(run);
  };
  const drop = dropped && new Drop(dropped, node, { begun, arrived: tell, opened });
  if (drop) node.append(drop.node);
  node.classList.toggle("rs-takesdrops", Boolean(drop));
  node.append(advanced, ...whyGrey(sources));
  const draw = (given) => {
    const source = sources.find((source) => source.name === menu.value);
    search.node.hidden = Boolean(source);
    if (drop) drop.node.hidden = Boolean(source);
    own.hidden = !source;
    const spelled = (values) => [source.name, Object.entries(values).map(([name, value]) => `${name}=${value}`).join(",")].filter(Boolean).join(":");
    advanced.hidden = !source?.fields.length;
    advanced.replaceChildren(...(source?.fields.length ? [parameters(source, { parameters: given }, false, (values) => changed(spelled(values), false), "Advanced")] : []));
  };
  menu.addEventListener("change", () => {
    draw({});
    listed = menu.value;
    changed(menu.value, true);
    if (!menu.value) typed.focus();
  });
  typed.addEventListener("change", () => tell(typed.value.trim()));
  draw(known ? written(rest.join(":")) : {});
  return node;
}

/** `bias=0.9,shade=1` as values by name. */
function written(parameters) {
  const pairs = parameters.split(",").filter(Boolean).map((part) => part.split("="));
  return Object.fromEntries(pairs.map(([name, value]) => [name.trim(), Number.isFinite(Number(value)) ? Number(value) : value]));
}

/** What was found in the images, or what is wrong with them; `open(name)`: the original of one of them. */
export function described(node, { problems, said = [], why = "", unlabelled, samples = [] }, words, open) {
  const lines = [...said, ...(unlabelled && words ? [words] : []), ...(why && !problems.length ? [why] : [])];
  node.replaceChildren(
    ...problems.map((line) => el("p", { class: "rs-alert", role: "alert", text: line })),
    ...lines.map((line) => el("p", { class: "rs-help", text: line })),
    ...(samples.length ? [el("ul", { class: "rs-samples", "aria-label": "Some of the images" }, ...samples.map((each) => sample(each, open)))] : []),
  );
}

/** Images of one class, with the names of its superclasses and its own. */
function sample({ names, images }, open) {
  const name = coarseToFine(names);
  const shown = images.map(([src, file], i) => {
    const image = el("img", { src, alt: name ? `${name}, image ${i + 1}` : `Image ${i + 1}` });
    return file ? el("button", { type: "button", title: `Open ${brief(file)}`, onclick: () => open(file) }, image) : image;
  });
  return el("li", {}, el("span", { class: "rs-help", text: name }), el("div", { class: "rs-flow" }, ...shown));
}

/** A field for each level of the tree, with its name as it is read beside it. */
export function levels(field, value, changed, { read_as: read = [] } = {}) {
  const names = read.map((level, i) => text(level, { value: value?.[i] ?? "", maxlength: 40, "aria-label": `Name of the level ${level}`, onchange: () => changed(now()) }));
  const now = () => (names.some((name) => name.value.trim()) ? names.map((name) => name.value.trim()) : null);
  return el("div", { class: read.length > 3 ? "rs-stack rs-tight" : "rs-inputrow" }, ...names.map((name, i) => labelledBy(read[i], name)));
}

/** A look that takes longer than a moment, and can be cancelled. */
export function looking(node, cancel) {
  const status = el("p", { class: "rs-help", role: "status" });
  node.replaceChildren(status, button("Cancel", cancel));
  say(status, "Looking …");
}

/** What the fields of how images are read offer, once somebody has looked: [the field as it is now, whether it is shown]. */
export function asRead(field, report) {
  const name = field.name.replace(/^data\./, "");
  if (field.control === "levels") return [field, Boolean(report?.read_as?.length)];
  if (!report?.columns || !(name in report.columns)) return [field, name !== "subset" || report?.readable !== false];
  const detected = [report.detected[name]].flat().filter(Boolean).join(", ");
  const choices = report.columns[name];
  const more = { choices, detected: detected ? `detected: ${detected}` : "detected" };
  return [field.control === "words" ? { ...field, ...more } : { ...field, control: "select", choices: [[null, more.detected], ...choices] }, report.readable];
}
