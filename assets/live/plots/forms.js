// The forms of plots. Adding one is adding a module with a descriptor {name, make(run, about, on)} and a line here; what a
// plot of a form shows is said by the server (trainers/metrics/measures.py).
//
// make returns {node, wide, general, draw(series, step), rows(), leave()}: `draw` says whether there is anything to see, `wide`
// asks for two columns, `general` says that it is not about the run, `rows` are those of the file, the first one being the
// head, and `leave`, if there, is called when another run is shown.

import { LEVELS } from "./levels.js";
import { MISTAKES } from "./mistakes.js";
import { PATH } from "./path.js";

export const FORMS = new Map([PATH, LEVELS, MISTAKES].map((form) => [form.name, form]));
