// The sections of the tab. Adding one is adding a module with a descriptor {name, make(tab)} and a line here.
//
// make(tab) returns {node, show(part, report)}: called with the part that is chosen whenever the report has changed.
// A section without anything to say hides its node.

import { FINDINGS } from "./findings.js";
import { INTERVALS } from "./intervals.js";
import { OVER } from "./over.js";
import { RUNS } from "./plan_runs.js";
import { TABLE } from "./result_table.js";
import { VERDICTS } from "./verdicts.js";

export const SECTIONS = [VERDICTS, TABLE, INTERVALS, OVER, FINDINGS, RUNS];
