// What the page asks of the Hub through the server: runs are pushed by jobs.

import { json, post } from "./api.js";

/** Where `Task` follows the work whose id is the reply's {job}. */
export const JOBS = "hub/job";
export const push = (asked) => post("hub/push", asked);
/** {can, name, todo}: whether this visitor can push, in whose name, and what to do otherwise. */
export const about = () => json("hub/about");
