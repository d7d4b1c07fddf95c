// The status line and buttons of the sidebar, which follow the run that is viewed; live.js reports every change of state.

import { say } from "../common/dom.js";
import { sentence } from "../live/status.js";

const find = (id) => document.getElementById(id);
let last = null;

/** Only what the phase allows can be pressed; the status line says why the rest cannot. */
function follow(state) {
  // what a button said it would do is done, or was about another run
  if (last && (last.id !== state.id || (last.phase !== state.phase && last.active))) find("rs-said")?.classList.add("rs-away");
  // what was said at a start is about the run that was started
  const note = find("rs-note");
  if (note && last && last.id !== state.id) note.classList.toggle("rs-away", note.dataset.run !== state.id);
  last = state;
  const { recorded } = state;
  const may = (act) => !recorded && state.acts.includes(act);
  for (const act of ["pause", "resume", "stop"]) enable(`rs-${act}`, may(act));
  for (const [id, shown] of [["rs-pause", !may("resume")], ["rs-resume", may("resume")]]) {
    find(id)?.classList.toggle("rs-away", !shown);
  }
  const line = find("rs-status");
  if (line) say(line, recorded ? "A recorded run is open. It can be watched, not changed; Train starts your own." : why(state));
}

function why(state) {
  const words = sentence(state);
  if (state.finished) return `${words}. It has used its budget, so it cannot be paused or stopped.`;
  return words;
}

function enable(id, on) {
  const button = find(id);
  if (button) button.disabled = !on;
}

function rest() {
  enable("rs-pause", false);
  enable("rs-resume", false);
  enable("rs-stop", false);
  find("rs-resume")?.classList.add("rs-away");
  const line = find("rs-status");
  if (line) say(line, "Nothing trains yet, so there is nothing to pause or stop.");
}

window.addEventListener("rankscope:state", (event) => follow(event.detail));

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

/** The box of images says what it takes when it is empty too. */
function invite() {
  const [box, words] = [document.querySelector("#rs-source input"), find("rs-source-words")];
  if (!box || !words || box.placeholder === words.textContent) return;
  box.placeholder = words.textContent;
  box.setAttribute("aria-description", words.textContent);
}

/** The catalogue's links to its families: a new hash in the address would make Gradio build the page again. */
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".rs-jumps a");
  const heading = link && find(link.hash.slice(1));
  if (!heading) return;
  event.preventDefault();
  heading.scrollIntoView();
  heading.focus({ preventScroll: true });
}, { capture: true });

/** A formula wider than its card can be scrolled with the keyboard too. */
function reach() {
  for (const formula of document.querySelectorAll(".katex-display:not([tabindex])")) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
  }
}

// Gradio makes the sidebar piece by piece after this module has run.
new MutationObserver(() => {
  reach();
  invite();
  const parts = ["rs-pause", "rs-resume", "rs-stop", "rs-status"].map(find);
  if (parts.includes(null) || parts.every((part) => part.dataset.followed)) return;
  for (const part of parts) part.dataset.followed = "yes";
  if (last) follow(last);
  else rest();
}).observe(document.documentElement, { childList: true, subtree: true });
