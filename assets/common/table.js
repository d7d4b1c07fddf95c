// Numbers as a table, which scrolls sideways where it is wider than the page.

import { el } from "./dom.js";

const row = (tag, scope, [first, ...cells]) => el("tr", {}, el("th", { scope, text: first }), ...cells.map((text) => el(tag, { scope: tag === "th" ? scope : null, text })));

/** `head` and each of `rows` begin with their title. */
export const table = (head, rows) => el("table", { class: "rs-table" }, el("thead", {}, row("th", "col", head)), el("tbody", {}, ...rows.map((cells) => row("td", "row", cells))));

export const tableBox = (...tables) => el("div", { class: "rs-tablebox", tabindex: "0", role: "region", "aria-label": "Numbers as a table" }, ...tables);
