// Arms of several runs in one list: each has a colour, and beyond six another form of it.

import { el, origin } from "../common/dom.js";
import { brief, capital } from "../common/names.js";
import { ink } from "../common/palette.js";

const COLOURS = 6;
const FORMS = ["full", "ring", "dot", "circle"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** {key, colour, form, dash} of the arm at a place of the list. */
export function look(place) {
  const round = Math.floor(place / COLOURS) % FORMS.length;
  return { colour: ink(place % COLOURS), form: `rs-form-${FORMS[round]}`, dash: DASHES[round] };
}

export function swatch(place) {
  const { colour, form } = look(place);
  return el("span", { class: `rs-swatch ${colour} ${form}`, "aria-hidden": "true" });
}

/** Its images, or its place in its plan, whose runs may all be on the same images. */
const named = (run) => `${brief(run.place ? capital(run.place) : run.data, 60)}, ${origin(run)}`;

/** What stands above something of an arm: its mark, its title and, where there are several runs, its run. */
export const heading = (place) => [swatch(place.place), el("span", { text: place.title }), place.of ? el("span", { class: "rs-note", text: place.of }) : ""];

/** Every arm of the runs: {key, run, arm, title, of, place}; `of` names the run where there are several. */
export function placesOf(runs) {
  const arms = runs.flatMap((run) => run.arms.map((title, arm) => ({ key: `${run.id}.${arm}`, run: run.id, arm, title: brief(title), of: runs.length > 1 ? named(run) : "" })));
  return arms.map((arm, place) => ({ ...arm, place }));
}
