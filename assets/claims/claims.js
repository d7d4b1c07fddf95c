// The tab "Claims": a card per claim of a paper, narrowed by work and verdict. Mounted once.

import * as api from "../common/api.js";
import { el, say } from "../common/dom.js";
import { Problem, select } from "../common/fields.js";
import { Poll } from "../common/poll.js";
import { whileSeen } from "../common/seen.js";
import { Card } from "./card.js";

const INTRO =
  "Claims of four works, tested here in runs of minutes. A rule that was fixed before the runs turns the numbers into a verdict. It says nothing about results on the papers' own data.";

export function mount(element) {
  const host = element.querySelector(".rs-claims") ?? element;
  if (!host.rankscope) host.rankscope = new Board(host);
}

class Board {
  constructor(host) {
    this.cards = new Map();
    this.problem = new Problem();
    this.counted = el("p", { class: "rs-note", role: "status", text: "Reading the claims …" });
    this.work = select(() => this.narrow(), []);
    this.work.setAttribute("aria-label", "Work");
    this.verdict = select(() => this.narrow(), []);
    this.verdict.setAttribute("aria-label", "Verdict");
    this.shown = el("span", { class: "rs-note", role: "status" });
    const files = [["CSV", "claims.csv"], ["LaTeX", "claims.tex"]];
    const links = files.map(([text, path]) => el("a", { class: "rs-act", href: `${api.base()}/${path}`, download: "", text }));
    this.tools = el("div", { class: "rs-flow rs-claimtools", hidden: true }, this.work, this.verdict, this.shown, ...links);
    this.grid = el("div", { class: "rs-claimgrid" });
    host.replaceChildren(el("p", { class: "rs-sentence", text: INTRO }), this.counted, this.problem.node, this.tools, this.grid);
    whileSeen(host, { drop: () => this.grid.replaceChildren(), draw: () => this.draw() });
    this.poll = new Poll(() => this.read(), (error) => this.problem.say(error && `The claims could not be read: ${error.message} Trying again.`), host);
    window.addEventListener("rankscope:changed", () => this.poll.schedule(0));
    this.poll.start();
  }

  async read() {
    const { works, verdicts, counted, claims } = await api.json("claims");
    say(this.counted, counted);
    if (!this.cards.size) this.fill(works, verdicts, claims);
    for (const claim of claims) this.cards.get(claim.name)?.show(claim);
    this.narrow();
    return claims.some((claim) => claim.here?.moving);
  }

  fill(works, verdicts, claims) {
    const option = (title, of) => `${title} (${claims.filter(of).length})`;
    const choices = (all, named, of) => [{ name: "", title: all }, ...named.map(({ name, title }) => ({ name, title: option(title, of(name)) }))];
    const filters = [choices("All works", works, (name) => (claim) => claim.work === name), choices("All verdicts", verdicts.map((name) => ({ name, title: name })), (name) => (claim) => claim.verdict === name)];
    [this.work, this.verdict].forEach((menu, at) => menu.replaceChildren(...filters[at].map(({ name, title }) => el("option", { value: name, text: title }))));
    for (const claim of claims) this.cards.set(claim.name, new Card(claim, () => this.poll.schedule(0)));
    this.tools.hidden = false;
    this.draw();
  }

  draw() {
    this.grid.replaceChildren(...[...this.cards.values()].map((card) => card.node));
  }

  narrow() {
    let count = 0;
    for (const card of this.cards.values()) {
      const fits = (!this.work.value || card.claim.work === this.work.value) && (!this.verdict.value || card.claim.verdict === this.verdict.value);
      card.node.hidden = !fits;
      count += fits;
    }
    say(this.shown, count === this.cards.size ? `${count} claims` : `${count} of ${this.cards.size} claims`);
  }
}
