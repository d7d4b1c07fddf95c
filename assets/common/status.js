// The state of the run in one line, and in another what is wrong.

import { el, grouped, say } from "./dom.js";
import { Problem } from "./fields.js";
import { capital } from "./names.js";

export class Status {
  constructor() {
    this.line = el("p", { class: "rs-status", role: "status" });
    this.problem = new Problem();
  }

  show(state) {
    say(this.line, sentence(state));
    if (state.failed) this.problem.say(state.error ?? "Training failed without a message.");
    else if (this.failed) this.problem.say(null); // other sentences stay until another run is opened
    this.failed = state.failed;
  }

  say(text) {
    say(this.line, text);
  }
}

/** The state in plain words. */
export function sentence({ phase, label, begun, finished, acts, message, step, by_stage: byStage, planned_steps: planned, seconds, queue_position: place, recorded }) {
  const more = message === phase ? "" : (message ?? "").replace(`${phase}; `, ""); // the phase has its own word
  const extra = more ? ` · ${more}` : "";
  if (Number.isFinite(place)) return `${place <= 1 ? "Next in the queue" : `Number ${place} in the queue`}${extra}`;
  if (!begun) return `Getting ready${extra}`;
  const of = planned ? `step ${grouped(step)} of ${grouped(planned)}` : `step ${grouped(step)}`;
  if (acts.includes("pause")) {
    // the trainer counts steps in its own words, with an "about" where their number is an estimate
    const counted = /^([\w ]+ )?step \d/.test(message ?? "");
    return capital(`${counted ? message : of}${left(step, planned, seconds)}${counted ? "" : extra}`);
  }
  const taken = byStage || (finished ? `${grouped(step)} steps` : "");
  const end = taken ? `${finished ? "" : "after "}${taken}${finished ? ` in ${duration(seconds)}` : ""}` : `at ${of}`;
  return `${capital(label)} ${finished ? "· " : ""}${end}${finished || recorded ? "" : extra}`;
}

function left(step, planned, seconds) {
  if (!planned || step < 5 || step >= planned || !seconds) return "";
  return ` · ${duration(((planned - step) * seconds) / step)} left`;
}

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes ? `${minutes} min ${rest} s` : `${rest} s`;
}
