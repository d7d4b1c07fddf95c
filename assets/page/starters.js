// The run whose encoder a run starts from: chosen among the arms of runs that have one, with its encoder and its images.

import { json } from "../common/api.js";
import { choose, select } from "../common/fields.js";

/** `changed(value, settings)`: the settings that come with the arm. */
export function starters(kind, value, changed) {
  let runs = [];
  const node = select((chosen) => changed(chosen || null, runs.find((run) => run.value === chosen)?.sets ?? {}));
  const offer = () => {
    const known = !value || runs.some((run) => run.value === value);
    choose(node, [{ name: "", title: "None: random or published weights" }, ...(known ? [] : [{ name: value, title: value }]),
      ...runs.map((run) => ({ name: run.value, title: run.title }))], value ?? "");
  };
  offer();
  json(`form/starters/${kind}`).then((reply) => { runs = reply.runs; offer(); }, () => {});
  return node;
}
