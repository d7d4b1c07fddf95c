// The parameters of a gallery that has some, such as another dataset: a form below the list of galleries.

import { el } from "../common/dom.js";
import { field, number, rowForm, select, text, valuesOf } from "../common/fields.js";

const DATASETS = "rs-datasets"; // the list that a field for a source offers
const SOURCE = "source";

/** `open(gallery)`: it is wanted with what the form holds. */
export class GalleryParameters {
  constructor(open) {
    Object.assign(this, { open, forms: new Map(), name: null });
    this.known = el("datalist", { id: DATASETS });
    this.node = el("div", {}, this.known);
  }

  /** What the server offers. */
  offer({ galleries, datasets, anywhere }) {
    this.known.replaceChildren(...datasets.map(({ name, title }) => el("option", { value: name, text: title })));
    for (const { name, parameters } of galleries.filter((gallery) => gallery.parameters.length)) {
      const controls = Object.fromEntries(parameters.map((parameter) => [parameter.name, controlOf(parameter, anywhere)]));
      const fields = parameters.map((parameter) => field(parameter.title, controls[parameter.name], { title: parameter.help }));
      const form = rowForm(fields, "Open", () => this.submit(name));
      form.hidden = true;
      this.forms.set(name, { form, controls, parameters });
      this.node.append(form);
    }
  }

  /** Show the form of a gallery; whether it has one. */
  show(name) {
    for (const [other, { form }] of this.forms) form.hidden = other !== name;
    this.name = name;
    return this.forms.has(name);
  }

  focus() {
    const { controls, parameters } = this.forms.get(this.name);
    controls[parameters[0].name].focus();
  }

  /** Open the gallery with what differs from the defaults; a main parameter is always said, and has to be. */
  submit(name) {
    const { controls, parameters } = this.forms.get(name);
    const values = valuesOf(controls);
    const said = parameters.filter((parameter) => parameter.main || (values[parameter.name] !== null && values[parameter.name] !== parameter.default));
    if (said.some((parameter) => parameter.main && !String(values[parameter.name] ?? "").trim())) return;
    this.open({ name, ...Object.fromEntries(said.map((parameter) => [parameter.name, values[parameter.name]])) });
  }
}

function controlOf({ name, help, default: usual, choices, low, high, whole, main }, anywhere) {
  if (choices.length) return select(() => {}, choices.map(([value, title]) => ({ name: value, title })), usual);
  if (typeof usual === "boolean") return el("input", { type: "checkbox", checked: usual });
  if (typeof usual === "number") return number(usual, low ?? "", high ?? "", whole ? 1 : "any");
  if (name !== SOURCE) return text(help, { value: main ? "" : usual });
  return text(anywhere ? "A dataset of the catalogue, a Hub id or a folder" : "A dataset of the catalogue", { list: DATASETS });
}
