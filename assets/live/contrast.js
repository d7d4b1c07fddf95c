// How the losses differ about one image, in a sentence: whose nearest images share a class with it, and whose do not.

import { brief } from "../common/names.js";

/** `arms`: of each the `shared` levels of its results by rank, as the server sends them. The level is the one at which two arms
 * differ most, the finest of several; empty where there is one arm or none has results. */
export function contrast(run, arms) {
  const results = arms[0]?.shared.length ?? 0;
  if (arms.length < 2 || !results) return "";
  const depth = run.levels.length;
  const counted = run.levels.map((level, i) => ({ level, counts: arms.map(({ shared }) => shared.filter((levels) => levels >= depth - i).length) }));
  const gap = ({ counts }) => Math.max(...counts) - Math.min(...counts);
  const most = Math.max(...counted.map(gap));
  const { level, counts } = counted.find((one) => gap(one) === most);
  const named = (wanted) => run.arms.filter((_, arm) => counts[arm] === wanted).map(({ title }) => brief(title, 40)).join(", ");
  const [high, low] = [Math.max(...counts), Math.min(...counts)];
  const of = `For this query, of the ${results === 10 ? "ten" : results} nearest images`;
  if (!most) return `${of}, every loss has ${high} of the same ${brief(level, 40)}.`;
  return `${of}, ${named(high)} has ${high} of the same ${brief(level, 40)}, ${named(low)} ${low}.`;
}
