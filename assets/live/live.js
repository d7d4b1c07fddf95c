// The Live view: puts the pieces together and follows one run. Mounted once; a run switch changes what it shows.

import * as api from "../common/api.js";
import { Alone, Origin } from "./alone.js";
import { Baseline } from "./baseline.js";
import { ClassView } from "./class_view.js";
import { LassoPanel } from "./lasso_panel.js";
import { Curves } from "./curves.js";
import { el, icon, say } from "../common/dom.js";
import { Downloads } from "./downloads.js";
import { Hints } from "./hints.js";
import { HoverCard } from "./hovercard.js";
import { ImageView } from "./image_view.js";
import { Legend } from "./legend.js";
import { MapGrid } from "./map_grid.js";
import { ringedOf } from "./overlays.js";
import { brief, inFull } from "../common/names.js";
import { picturePage } from "./poster.js";
import { Player } from "./player.js";
import { Refine } from "./refine.js";
import { Poll } from "../common/poll.js";
import { restore, viewed, VIEWED } from "./view_link.js";
import { Series } from "../common/series.js";
import { TagLabels } from "./tag_labels.js";
import { Untrained } from "./untrained.js";
import { Status } from "../common/status.js";
import { NeighbourRows } from "./neighbour_rows.js";
import { isDark, onTheme } from "../common/theme.js";
import { COMPARISON, toHub, toPlan, toRetrieve, toSelection } from "../common/navigation.js";
import { installPageApi } from "./page_api.js";

const AWAY =
  "Reconnecting: the server does not answer. If only the connection is lost, training goes on; if the server has ended, the run can go on from its last checkpoint.";
const NEIGHBOUR_PAUSE = 900; // ms between refreshes of the neighbours while frames run by

export function mount(element) {
  const host = element.querySelector(".rs-live") ?? element;
  if (!host.rankscope) host.rankscope = new Live(host);
  return host.rankscope;
}

class Live {
  constructor(host) {
    this.host = host;
    this.run = null;
    this.build();
    this.player = new Player(this);
    this.poll = new Poll(() => this.ask(), (error) => this.showError(error), host);
    onTheme(() => this.run?.points && (this.legend.recolour(isDark()), this.recolour()));
    installPageApi(this);
    this.showEmpty("Reading the run …");
    this.begin();
  }

  build() {
    const choose = (i) => this.images.choose(i);
    const hover = (i) => this.images.hover(i);
    this.title = el("h2", {});
    this.badge = el("span", { class: "rs-note rs-badge", text: "recorded run", hidden: true });
    this.summary = el("p", { class: "rs-note rs-runsummary" });
    this.status = new Status();
    this.origin = new Origin();
    this.classes = new ClassView(this);
    this.images = new ImageView(this);
    const asked = ["hover", "choose", "enter", "clear", "cursor", "lasso", "visible", "highlighted", "maxRadius", "marks", "drawOverlay"];
    const points = asked.map((name) => [name, (...given) => (this.classes.on ? this.classes : this.images)[name](...given)]);
    this.maps = new MapGrid(Object.fromEntries(points));
    this.legend = new Legend({ changed: () => this.recolour() });
    this.refine = new Refine((sentence) => this.status.problem.say(sentence));
    const search = (i) => (choose(i), toRetrieve());
    this.neighbours = new NeighbourRows({ hover, choose, search });
    const select = (ids, title) => this.images.lasso(ids, title);
    this.tagLabels = new TagLabels(() => this.maps.changed());
    this.lassoPanel = new LassoPanel({ labels: this.tagLabels, hover, choose, select, clear: () => select([]), send: (section, ids) => toSelection(section, this.run.id, ids) });
    this.baseline = new Baseline(() => this.numbers());
    this.untrained = new Untrained(() => this.series && this.numbers(), (sentence) => this.status.problem.say(sentence));
    this.curves = new Curves({ seek: (step) => this.player.seekStep(step) }, this.baseline, this.untrained);
    this.downloads = new Downloads({ picture: () => this.poster() });
    this.alone = new Alone();
    this.card = new HoverCard();
    this.hints = new Hints();
    this.aloud = el("p", { class: "rs-unseen", "aria-live": "polite" });
    this.layout();
  }

  layout() {
    const lasso = el("button", { type: "button", class: "rs-act", "aria-pressed": "false", onclick: () => this.lassoMode() }, icon("lasso"), el("span", { text: "Lasso" }));
    const whole = el("button", { type: "button", class: "rs-act rs-wholebutton", onclick: () => this.maps.reset() }, icon("reset"), el("span", { text: "Show everything" }));
    this.lassoButton = lasso;
    const naming = el("div", { class: "rs-flow rs-titleline" }, this.title, this.badge, this.status.line, this.summary, this.baseline.control);
    const head = el("header", { class: "rs-head" }, naming, el("div", { class: "rs-flow rs-headacts" }, this.origin.node, this.downloads.node, this.hints.opener));
    this.maps.node.append(this.card.node);
    this.track = el("div");
    this.large = el("button", { type: "button", class: "rs-act", "aria-pressed": "false", onclick: () => this.enlarge() }, icon("enlarge"), el("span", { text: "Enlarge" }));
    const tools = el("div", { class: "rs-flow rs-tools" }, this.refine.node, whole, this.classes.naming, lasso, this.large);
    const above = el("div", { class: "rs-flow rs-above" }, this.legend.levels, this.classes.node, this.legend.node);
    this.stage = el("div", { class: "rs-mapstage" }, above, this.maps.node, el("div", { class: "rs-flow rs-below" }, this.track, tools));
    this.stage.addEventListener("keydown", (event) => event.key === "Escape" && this.enlarge(false));
    this.host.replaceChildren(head, this.downloads.push.node, this.status.problem.node, this.untrained.findings, this.baseline.summary, this.hints.node, this.stage, this.neighbours.node, this.classes.caveat, this.untrained.node, this.lassoPanel.node, this.alone.node, this.curves.node, this.aloud);
  }

  // ------------------------------------------------------------------- run

  async begin() {
    const asked = new URLSearchParams(location.search);
    const name = asked.get(COMPARISON);
    if (name) {
      toHub(name);
      return this.openFirst();
    }
    try {
      const id = asked.get("run") ?? (await api.start());
      if (id) return await this.open(id, asked);
      this.showEmpty();
    } catch (error) {
      this.status.problem.say(error.message);
      if (asked.has("run") && error.status) return this.fallBack();
    }
    setTimeout(() => this.run || this.begin(), 4000); // one may be started in another tab
  }

  /** The address names a run that does not exist: say so, and show the usual first one. */
  async fallBack() {
    const id = await api.start().catch(() => null);
    if (id) await this.open(id, new URLSearchParams(), { keepProblem: true });
  }

  /** A plan has no maps: its own tab shows it. What was shown here stays. */
  async openPlan(id) {
    toPlan(id);
    if (!this.run) await this.openFirst();
  }

  /** Show the usual first run, as soon as there is one; the address stays. */
  async openFirst() {
    const first = await api.start().catch(() => null);
    if (first) return this.open(first, new URLSearchParams(), { aside: true });
    this.showEmpty();
    setTimeout(() => this.run || this.openFirst(), 4000);
  }

  /** Without a run nothing but a sentence is shown. */
  showEmpty(text = "No run yet. Choose images and losses, then press Train.") {
    this.host.classList.add("rs-norun");
    this.maps.grid.replaceChildren(el("p", { class: "rs-vacant", text }));
  }

  /** Show a run. Nothing is mounted anew: the canvas, the view and the panels stay. */
  async open(id, asked = new URLSearchParams(), { keepProblem = false, aside = false } = {}) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const run = await api.run(id);
    if (turn !== this.turn) return;
    if (run.plans) return this.openPlan(id);
    this.host.classList.remove("rs-norun");
    this.poll.stop();
    this.player.stop();
    if (!keepProblem) this.status.problem.say(null);
    this.forget();
    Object.assign(this, { run, row: 0, series: new Series() });
    if (!aside) history.replaceState(history.state, "", this.address());
    this.maps.arrange(run.arms.map((arm) => arm.title), run.measures);
    for (const card of this.maps.cards) card.truth.load(run.map_figures);
    this.hints.load();
    this.maps.reset();
    this.curves.load(run, this.series);
    this.neighbours.load(run);
    this.lassoPanel.show(run, [], 0);
    this.downloads.load(run);
    this.showRun(run);
    this.state(run);
    await this.player.load(run, Number(asked.get("k") ?? NaN));
    const gone = restore(this, asked);
    if (gone) this.status.problem.say(gone);
    this.poll.start();
  }

  /** Every part drops what it showed of the run before. */
  forget() {
    this.images.empty();
    clearTimeout(this.later);
    this.card.hide();
    this.legend.empty();
    this.classes.empty();
    this.player.shown = null;
    this.refine.show("", "");
    this.baseline.empty();
    this.untrained.empty();
    this.curves.empty();
    this.lassoMode(false);
    say(this.aloud, "");
  }

  /** What depends on the probe, which arrives after the run has begun. */
  showRun(run) {
    this.run = run;
    say(this.title, brief(run.title, 160));
    this.title.title = inFull(run.title);
    say(this.summary, brief(run.summary, 300));
    this.badge.hidden = !run.recorded;
    this.origin.show(run);
    this.baseline.load(run);
    this.curves.run = run;
    this.untrained.load(run);
    this.neighbours.run = run;
    this.maps.run = run;
    if (!run.points) return;
    this.legend.load(run, isDark());
    this.images.ringed = ringedOf(run);
    this.legend.rings(this.images.ringed.length);
    this.redraw();
  }

  /** Other colours, or another level. */
  recolour() {
    if (this.classes.on) return this.redraw();
    this.paint();
    return this.showTruth();
  }

  /** Other points, or other classes of them: bring the maps in line. */
  redraw() {
    const { on } = this.classes;
    this.classes.take();
    this.paint();
    if (this.player.shown) this.move(this.player.shown.places, 0);
    this.maps.cards.forEach((card) => {
      if (on) this.tagLabels.hide();
      else this.classes.hideOverlay(card);
      card.describe(on ? this.classes.ids.length : this.run.points, on ? "class" : "image");
    });
    this.showTruth();
  }

  /** Show the images at new places, or the classes of images that are there. */
  move(places, duration) {
    this.maps.show(this.classes.on && this.run.points ? this.classes.placed(places) : places, duration, places);
  }

  /** Write above each map what is true of it, for the level that colours it. */
  showTruth() {
    const { legend, run } = this;
    const level = run.points && legend.tree === run ? legend.level : null;
    this.maps.cards.forEach((card, arm) => card.truth.show(this.player.shown?.arms[arm], level));
  }

  /** Address of the run. */
  address() {
    const url = new URL(location.href);
    for (const name of [COMPARISON, ...VIEWED]) url.searchParams.delete(name);
    url.searchParams.set("run", this.run.id);
    return url.href;
  }

  /** What a link to the view has in its address; null: nothing of that name. */
  view() {
    if (!this.run) return {};
    return { ...Object.fromEntries([COMPARISON, ...VIEWED].map((name) => [name, null])), run: this.run.id, ...viewed(this) };
  }

  state(state) {
    this.phase = state.phase;
    this.status.show({ ...state, recorded: this.run.recorded });
    this.alone.show(this.run, state);
    // the sidebar's status line and buttons follow the run that is viewed
    window.dispatchEvent(new CustomEvent("rankscope:state", { detail: { ...state, id: this.run.id, recorded: this.run.recorded } }));
    const words = !state.moving ? (state.drawing ? "Drawing the map …" : "This run has no map.") : state.message ? `Waiting for the first frame: ${state.message}` : "Waiting for the first frame";
    this.maps.cards.forEach((card) => card.wait(this.player.frames.length ? "" : words));
    this.neighbours.node.hidden = !this.player.frames.length && !state.moving && !state.drawing;
  }

  /** One turn of the poll loop; true while the run is moving. */
  async ask() {
    const { run } = this;
    const news = await api.poll(run.id, this.player.last, this.row);
    if (run.id !== this.run?.id) return true;
    this.row = news.row;
    this.series.add(news.metrics, news.keys);
    this.series.add(news.maps.rows, news.maps.keys);
    this.refine.show(run.id, news.refinement);
    if (!this.run.points && news.active) {
      const again = await api.run(run.id);
      if (again.id === this.run.id && again.points) this.showRun(again);
    }
    if (!this.run.points && news.frame) this.showRun(await api.run(run.id));
    await this.player.extend(news);
    await this.baseline.poll();
    this.state(news);
    this.untrained.take(news.untrained, news.moving);
    this.maps.cards.forEach((card, arm) => card.diagnose(news.diagnosis[arm] ?? []));
    this.numbers();
    return news.moving || news.drawing || news.refinement === "awaited";
  }

  showError(error) {
    if (!error) return;
    this.status.say(error instanceof api.ServerError && error.status ? error.message : AWAY);
  }

  // ----------------------------------------------------------------- frame

  /** Called by the player with every frame that is to be shown. */
  shown(frame, first, duration) {
    this.move(frame.places, duration);
    this.maps.cards.forEach((card, arm) => {
      card.wait("");
      card.truth.frame(frame.arms[arm], first);
    });
    this.showTruth();
    this.numbers();
    this.results();
  }

  /** Step that the numbers speak about: that of the frame, or the newest while the page follows the run. */
  get step() {
    return Number.isFinite(this.player.step) ? this.player.step : this.series.lastStep();
  }

  numbers() {
    const step = this.step;
    this.maps.cards.forEach((card, arm) => {
      const start = (key) => this.series.start(key, arm);
      card.show((key) => this.series.point(key, arm, step), start, this.baseline, step);
    });
    this.baseline.showSummary(step);
    this.untrained.show((key, arm) => this.series.at(key, arm, step));
    this.curves.update(step);
  }

  /** Refresh the neighbours, at most about once a second while frames run by. */
  async results() {
    clearTimeout(this.later);
    const wait = NEIGHBOUR_PAUSE - (performance.now() - (this.refreshed ?? -Infinity));
    if (wait > 0 && this.player.busy) {
      this.later = setTimeout(() => this.results(), wait);
      return;
    }
    this.refreshed = performance.now();
    const { k } = this.player;
    if (k === null || !this.run.points) return;
    const query = this.images.chosen ?? this.neighbours.shown;
    if (query === null) await this.suggest(k);
    else await this.neighbours.show(k, query);
    this.maps.changed();
  }

  async suggest(k) {
    if (this.suggesting) return;
    this.suggesting = true;
    const { run } = this;
    try {
      const at = this.player.last ?? k;
      const i = await api.suggestion(run.id, at);
      if (run !== this.run || this.images.chosen !== null) return;
      this.neighbours.suggested(at, i);
      this.images.take(i);
    } catch (error) {
      this.neighbours.fail(error.message);
    } finally {
      this.suggesting = false;
    }
  }

  // ------------------------------------------------------------- selection

  /** Show the card beside point `i`; `show` fills it, by default with the image. */
  float(arm, i, show = (...where) => this.card.show(this.run, i, ...where)) {
    const now = performance.now();
    const box = this.maps.node.getBoundingClientRect();
    const area = this.maps.cards[arm].plot.getBoundingClientRect();
    const { scene } = this.maps;
    const [x, y] = scene.toScreen(arm, scene.at(arm, i, now), area.width, area.height, now);
    show([x + area.left - box.left, y + area.top - box.top], box.width);
  }

  lassoMode(on = this.lassoButton.getAttribute("aria-pressed") !== "true") {
    this.lassoButton.setAttribute("aria-pressed", String(on));
    this.maps.lassoMode(on);
  }

  /** Give the maps the whole window, or their place on the page again. */
  enlarge(on = !this.stage.classList.contains("rs-enlarged")) {
    this.stage.classList.toggle("rs-enlarged", on);
    document.documentElement.classList.toggle("rs-still", on);
    this.large.setAttribute("aria-pressed", String(on));
    say(this.large.lastChild, on ? "Close" : "Enlarge");
  }

  paint() {
    if (this.images.lassoed.length) this.images.list();
    if (this.classes.on) return this.maps.paint(this.classes.colours(), this.classes.sizes);
    return this.maps.paint(this.images.colours());
  }

  poster() {
    return picturePage(this.maps, this.run, this.step, isDark());
  }
}
