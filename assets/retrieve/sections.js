// The sections of the tab. Adding one is adding a module with a descriptor {name, title, make(tab)} and a line here.
//
// make(tab) returns {node, load(), look(), repin()}: `load` is called when other runs are shown (see `Tab.runs` and
// `Tab.home`), `look` when the section comes into sight, and `repin`, if it has one, when another baseline is pinned.

import { LOOKED_AT } from "./looked_at.js";
import { MISTAKES } from "./mistakes.js";
import { QUERY } from "./query.js";

export const SECTIONS = [QUERY, MISTAKES, LOOKED_AT];
