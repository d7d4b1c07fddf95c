// The way from a run to a plan over its seeds: the form takes the run's settings, and the fold of the plan opens.

/** `fill(id)` asks the server; `forms`: the kinds of run whose settings the form takes. */
export function mount(_element, { fill, forms }) {
  const begin = (id) => open(() => id && fill(id));
  window.rankscopePlans = { begin, offered: (name) => forms.includes(name) };
  window.dispatchEvent(new CustomEvent("rankscope:sweeps"));
}

/** Open the sidebar and the fold, then fill the form; without a run it stays as it is. */
function open(fill) {
  document.querySelector("#rs-sidebar:not(.open) .toggle-button")?.click();
  const fold = document.querySelector(".rs-fold:has(> .rs-foldbody .rs-vary)");
  if (fold && !fold.hasAttribute("data-open")) fold.querySelector(".rs-foldhead")?.click();
  fill();
  const first = fold?.querySelector(".rs-foldbody input, .rs-foldbody textarea");
  fold?.scrollIntoView({ block: "start" });
  first?.focus({ preventScroll: true });
}
