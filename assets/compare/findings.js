// What a kind of plan has found out beyond its tables: headings with sentences, from the server.

import { el } from "../common/dom.js";

class Findings {
  constructor() {
    this.node = el("section", { class: "rs-stack", "aria-label": "Findings" });
  }

  show(_part, { findings }) {
    this.node.hidden = !findings.length;
    const block = ({ title, sentences }) => el("div", { class: "rs-stack rs-tight" }, el("h3", { text: title }), el("ul", { class: "rs-stack rs-tight" }, ...sentences.map((text) => el("li", { text }))));
    this.node.replaceChildren(...findings.map(block));
  }
}

export const FINDINGS = { name: "findings", make: () => new Findings() };
