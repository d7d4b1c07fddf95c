// How the losses differ about one image, in a sentence: whose nearest images share a class with it, and whose do not; and
// on how many of all queries each is ahead so.

import { brief } from "../common/names.js";

const short = (title) => brief(title, 40);

/**
 * `arms`: of each the `shared` levels of its results by rank, and `ahead`: of each level on how many queries each arm, and
 * none alone, has the most, as the server sends them. The level is the one at which two arms differ most, the finest of
 * several; empty where there is one arm or none has results. `telling`: the query was chosen because they differ most on it.
 */
export function contrast(run, { arms, ahead }, telling) {
  const results = arms[0]?.shared.length ?? 0;
  if (arms.length < 2 || !results) return "";
  const depth = run.levels.length;
  const counted = run.levels.map((level, i) => ({ i, level, counts: arms.map(({ shared }) => shared.filter((levels) => levels >= depth - i).length) }));
  const gap = ({ counts }) => Math.max(...counts) - Math.min(...counts);
  const most = Math.max(...counted.map(gap));
  const { i, level, counts } = counted.find((one) => gap(one) === most);
  const named = (wanted) => run.arms.filter((_, arm) => counts[arm] === wanted).map(({ title }) => short(title)).join(", ");
  const [high, low] = [Math.max(...counts), Math.min(...counts)];
  const of = `${telling && most ? "A query on which they differ most: of" : "For this query, of"} the ${results === 10 ? "ten" : results} nearest images`;
  const here = most ? `${named(high)} has ${high} of the same ${short(level)}, ${named(low)} ${low}.` : `every loss has ${high} of the same ${short(level)}.`;
  return [`${of}, ${here}`, over(run, ahead?.[i])].filter(Boolean).join(" ");
}

/** `Over all 1,200 queries A has more on 41 %, B on 44 %; equal on 15 %.` */
function over(run, won) {
  const all = won?.reduce((sum, count) => sum + count, 0);
  if (!all) return "";
  const percent = (count) => `${Math.round((100 * count) / all)}\u00a0%`;
  const each = run.arms.map(({ title }, arm) => `${short(title)} ${arm ? "" : `has ${run.arms.length > 2 ? "the most" : "more"} `}on ${percent(won[arm])}`);
  return `Over all ${all.toLocaleString("en-GB")} queries ${each.join(", ")}; equal on ${percent(won.at(-1))}.`;
}
