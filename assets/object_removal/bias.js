// Scenes drawn with another bias: how often two things that belong together are together.

import { el } from "../common/dom.js";
import { button, slider } from "./fields.js";

const USUAL = 0.92;

/** `open(source)`: opens a set by its source. Returns the form. */
export function biasForm(open) {
  const words = (share) => `${Math.round(share * 100)} %`;
  const bias = slider("Scenes drawn anew; pairs such as dog and frisbee together in", { value: USUAL, low: 0.5, high: 1, step: 0.01, words });
  const draw = button("Draw such scenes", () => {});
  draw.type = "submit";
  const form = el("form", { class: "rs-inputrow" }, bias.node, draw);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    open(`drawn_scenes:bias=${bias.value}`);
  });
  return form;
}
