// Beside the tabs: copies a link to what is on screen; and opens the tab that a link names.

import { el, icon, sayBriefly } from "../common/dom.js";

const TAB = "tab";
const bar = () => document.querySelector("#rs-tabs > .tab-wrapper");
const tabs = () => [...document.querySelectorAll("#rs-tabs button[role=tab]")];

export function mount(element) {
  const host = element.querySelector(".rs-link");
  if (host.dataset.made || !bar()) return;
  host.dataset.made = "yes";
  const said = el("p", { class: "rs-note rs-said", role: "status" });
  const copy = async () => {
    const link = address();
    const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
    if (!copied) history.replaceState(history.state, "", link);
    sayBriefly(said, copied ? "Link copied" : "This browser does not let pages copy: the link stands in the address bar");
  };
  host.replaceChildren(el("button", { type: "button", class: "rs-act", title: "A link to this view: tab, run, frame, image, colouring, selection", onclick: copy }, icon("link"), el("span", { text: "Copy link" })), said);
  bar().append(host);
  open();
}

/** The address of what is on screen; that of a plan is there already. */
function address() {
  const url = new URL(location.href);
  const seen = window.rankscopePlan?.seen() ? {} : window.rankscope?.view();
  for (const [name, value] of Object.entries(seen ?? {})) value === null ? url.searchParams.delete(name) : url.searchParams.set(name, value);
  const place = tabs().findIndex((tab) => tab.getAttribute("aria-selected") === "true");
  if (place > 0) url.searchParams.set(TAB, tabs()[place].textContent.trim());
  else url.searchParams.delete(TAB);
  return url.href;
}

/** The tab of the address; that stays out of it from then on, as tabs are changed without it. */
function open() {
  const url = new URL(location.href);
  const title = url.searchParams.get(TAB);
  if (title === null) return;
  url.searchParams.delete(TAB);
  history.replaceState(history.state, "", url.href);
  tabs().find((tab) => tab.textContent.trim() === title)?.click();
}
