// What the shipped classifier finds most probable in a photograph, as it is and without the object, side by side.

import { el } from "../common/dom.js";
import { listed, percent } from "../common/measures.js";

/** `seen`: {title, original, removed}, each a list of {name, share}, the most probable class first. */
export function seenClasses({ title, original, removed }, gone) {
  const side = (words, classes, others) => {
    const known = new Set(others.map(({ name }) => name));
    return el("div", { class: "rs-seenside" }, el("h3", { text: words }), el("ol", { class: "rs-seenbars" }, ...classes.map((one) => bar(one, !known.has(one.name)))));
  };
  return el(
    "section",
    { class: "rs-seen", "aria-label": `What ${title} sees` },
    el("h2", { text: `What ${title} sees` }),
    el("p", { class: "rs-note", text: "The five most probable of the 1,000 classes that it knows, whatever the captions say; bold where the other side lacks it." }),
    el("div", { class: "rs-seenpair" }, side("in the original", original, removed), side(`without the ${listed(gone)}`, removed, original)),
  );
}

function bar({ name, share }, alone) {
  const fill = el("span", { class: "rs-seenfill", style: `width: ${(share * 100).toFixed(1)}%` });
  return el("li", { class: alone ? "rs-seenalone" : "" }, el("span", { class: "rs-seenname", text: name }), el("span", { class: "rs-seentrack", "aria-hidden": "true" }, fill), el("span", { class: "rs-seenshare", text: percent(share) }));
}
