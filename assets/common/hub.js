// What the page asks of the Hub through the server: comparisons are opened, and runs pushed, by jobs.

import { json, post } from "./api.js";

/** The reply is {job}: the id of the work that is followed with `job` and ended with `stop`. */
export const open = (name) => post("hub/open", { name });
export const push = (asked) => post("hub/push", asked);
export const job = (id) => json(`hub/job/${encodeURIComponent(id)}`);
export const stop = (id) => post(`hub/job/${encodeURIComponent(id)}/stop`, {});
/** {can, name, todo}: whether this visitor can push, in whose name, and what to do otherwise. */
export const about = () => json("hub/about");
