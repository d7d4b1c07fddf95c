// "Make it a sweep" fills the form with a run's settings and opens the fold in which the runs are planned.

/** `fill(id)` asks the server; `forms`: the kinds of run whose settings the form takes. */
export function mount(_element, { fill, forms }) {
  window.rankscopePlans = { offered: (kind) => forms.includes(kind), sweep: (id) => open(() => id && fill(id)) };
  window.dispatchEvent(new CustomEvent("rankscope:plans"));
}

/** Open the sidebar and the fold, then fill the form; without a run it stays as it is. */
function open(fill) {
  document.querySelector("#rs-sidebar:not(.open) .toggle-button")?.click();
  const fold = document.querySelector(".rs-fold:has(> .rs-foldbody .rs-vary)");
  if (fold && !fold.hasAttribute("data-open")) fold.querySelector(".rs-foldhead")?.click();
  fill();
  const first = fold?.querySelector(".rs-foldbody input, .rs-foldbody textarea");
  fold?.scrollIntoView({ block: "center" });
  first?.focus({ preventScroll: true });
}
