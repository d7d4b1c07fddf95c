// The Catalogue tab: its entries are drawn when it is opened; links go to the families.

/** `opened()` asks for the entries. */
export function mount(element, { opened }) {
  const catalogue = element.closest("#rs-catalogue");
  catalogue.addEventListener("click", (event) => jump(event), { capture: true });
  new MutationObserver(() => reach(catalogue)).observe(catalogue, { childList: true, subtree: true });
  opened();
}

/** A new hash in the address would make Gradio build the page again. */
function jump(event) {
  const link = event.target.closest?.(".rs-jumps a");
  const heading = link && document.getElementById(link.hash.slice(1));
  if (!heading) return;
  event.preventDefault();
  heading.scrollIntoView();
  heading.focus({ preventScroll: true });
}

/** A formula wider than its card can be scrolled with the keyboard too. */
function reach(catalogue) {
  for (const formula of catalogue.querySelectorAll(".katex-display:not([tabindex])")) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
  }
}
