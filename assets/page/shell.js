// The status line and buttons of the sidebar, which follow the run that is viewed; live.js reports every change of state.

import { say } from "../common/dom.js";
import { sentence } from "../common/status.js";

const find = (id) => document.getElementById(id);
const states = {}; // of the run in Live, and of the plan in Compare
let last = null;

/** Only what the phase allows can be pressed; the status line says why the rest cannot. */
function follow(state) {
  states[state.told === undefined ? "run" : "plan"] = state;
  // what a button said it would do is done, or was about another run
  if (last && (last.id !== state.id || (last.phase !== state.phase && last.active))) find("rs-said")?.classList.add("rs-away");
  // what was said at a start is about the run that was started
  const note = find("rs-note");
  if (note && last && last.id !== state.id) note.classList.toggle("rs-away", note.dataset.run !== state.id);
  last = state;
  offer(state.recorded ? [] : state.acts, why(state));
}

function why(state) {
  if (state.told) return state.told;
  if (state.recorded) return "A recording is open. It can be watched, not changed; Train starts your own.";
  const words = sentence(state);
  return state.finished ? `${words}. It has used its budget, so it cannot be paused or stopped.` : words;
}

function offer(acts, words) {
  for (const act of ["pause", "resume", "stop"]) {
    const button = find(`rs-${act}`);
    if (button) button.disabled = !acts.includes(act);
  }
  find("rs-pause")?.classList.toggle("rs-away", acts.includes("resume"));
  find("rs-resume")?.classList.toggle("rs-away", !acts.includes("resume"));
  const line = find("rs-status");
  if (line) say(line, words);
}

for (const name of ["rankscope:state", "rankscope:viewed"]) window.addEventListener(name, (event) => follow(event.detail));

/** The buttons are about what the open tab shows. */
window.addEventListener("rankscope:tab", ({ detail }) => {
  const state = detail.plans ? states.plan : states.run;
  if (state && state !== last) follow(state);
});

document.addEventListener("click", (event) => {
  if (event.target.closest?.("#rs-controls")) find("rs-said")?.classList.remove("rs-away");
  if (event.target.closest?.("#rs-train")) find("rs-note")?.classList.remove("rs-away");
}, { capture: true });

/** The sidebar shows what the open tab starts: its settings, or a sentence about where that is done. */
function show({ name, trains }) {
  for (const id of ["rs-setup", "rs-go"]) find(id)?.classList.toggle("rs-away", !trains);
  for (const aside of find("rs-aside")?.querySelectorAll("p") ?? []) aside.hidden = aside.dataset.tab !== name;
}

window.addEventListener("rankscope:tab", (event) => show(event.detail));

/** Folds open and close here: their content is on the page all the time. */
document.addEventListener("click", (event) => {
  const head = event.target.closest?.(".rs-foldhead");
  const open = head?.closest(".rs-fold")?.toggleAttribute("data-open");
  if (head) head.setAttribute("aria-expanded", String(open));
});

/** The boxes of images say what they take when they are empty too. */
function describeSources() {
  const words = document.querySelector(".rs-source-words")?.textContent;
  for (const box of words ? document.querySelectorAll('[id|="rs-source"] input') : []) {
    if (box.placeholder === words) continue;
    box.placeholder = words;
    box.setAttribute("aria-description", words);
  }
}

// Gradio makes the sidebar piece by piece after this module has run.
new MutationObserver(() => {
  describeSources();
  const parts = ["rs-pause", "rs-resume", "rs-stop", "rs-status"].map(find);
  if (parts.includes(null) || parts.every((part) => part.dataset.followed)) return;
  for (const part of parts) part.dataset.followed = "yes";
  if (last) follow(last);
  else offer([], "Nothing trains yet, so there is nothing to pause or stop.");
}).observe(document.documentElement, { childList: true, subtree: true });
