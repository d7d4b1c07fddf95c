// Scenes drawn with another bias: how often two things that belong together are together.

import { el, say } from "./dom.js";
import { button } from "./object_fields.js";

/** `open(source)`: opens a set by its source. Returns the form. */
export function biasForm(open) {
  const range = el("input", { type: "range", class: "rs-range", min: "50", max: "100", step: "1", value: "92", "aria-label": "Pairs that are together, per cent" });
  const told = el("output", { class: "rs-biasvalue" });
  const show = () => {
    say(told, `${range.value} %`);
    range.setAttribute("aria-valuetext", `${range.value} per cent`);
  };
  const draw = button("Draw such scenes", () => {});
  draw.type = "submit";
  const words = el("span", { class: "rs-biaswords" }, el("b", { text: "Scenes drawn anew" }), " with both of a pair, such as dog and frisbee, in ", told, " of them");
  const form = el("form", { class: "rs-line rs-biasform" }, el("label", { class: "rs-field" }, words, range), draw);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    open(`drawn_scenes:bias=${Number(range.value) / 100}`);
  });
  range.addEventListener("input", show);
  show();
  return form;
}
