// A form that opens drawn scenes of another bias: how often two classes that belong together appear together.

import { rowForm, slider } from "../common/fields.js";

const USUAL = 0.92;

/** The form. `open(source)` opens a dataset by its source. */
export function biasForm(open) {
  const words = (share) => `${Math.round(share * 100)} %`;
  const bias = slider("Scenes drawn anew; pairs such as dog and frisbee together in", { value: USUAL, low: 0.5, high: 1, step: 0.01, words });
  return rowForm([bias.node], "Draw such scenes", () => open(`drawn_scenes:bias=${bias.value}`));
}
