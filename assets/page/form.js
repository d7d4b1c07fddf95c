// The form of a kind of run: its sections and their fields, and what they hold.

import { json, post } from "../common/api.js";
import { el } from "../common/dom.js";
import { button, choose, fold, Problem, select } from "../common/fields.js";
import { toLive } from "../common/navigation.js";
import { openOriginal } from "../common/original.js";
import { labelled, PLAIN } from "./controls.js";
import { arms, entry } from "./entries.js";
import { hierarchy } from "./hierarchy.js";
import { asRead, described, images, levels, looking } from "./images.js";

const SOURCE = "data.source";
/** Settings that belong to the images: chosen anew, they are as they were. */
const OF_IMAGES = ["image_column", "label_columns", "hierarchy", "level_names", "train_split", "test_split", "subset"].map((name) => `data.${name}`);
const NAMES = "data.level_names"; // they stand below what was seen in the images

export class Form {
  /** `kind` and `all` as the server describes them; `settings`: those that are not at their defaults; `changed()`. */
  constructor(kind, all, settings, changed) {
    Object.assign(this, { kind, all, changed });
    this.fields = kind.sections.flatMap((section) => section.fields);
    this.defaults = Object.fromEntries(this.fields.map(({ name, default: first }) => [name, first]));
    this.values = { ...this.defaults, ...settings };
    this.nodes = new Map();
    this.about = el("div", { class: "rs-stack rs-tight rs-report" });
    this.node = el("div", { class: "rs-sections" }, ...kind.sections.map((section) => this.section(section)));
    this.look(true);
  }

  /** What is sent to the server. */
  get asked() {
    return { kind: this.kind.name, settings: this.values };
  }

  section(section) {
    const body = el("div", { class: "rs-fields" });
    const draw = () => {
      body.replaceChildren(...section.fields.filter(({ name }) => name !== NAMES).map((field) => this.field(field, section)), ...this.after(section));
    };
    if (!section.folded) {
      draw();
      const titled = section.title && section.fields.length === 1;
      return el("section", { class: "rs-section" }, section.title && !titled ? el("h2", { text: section.title }) : null, body);
    }
    const head = fold(section.title, body);
    head.addEventListener("toggle", () => head.open && !body.firstChild && draw());
    return head;
  }

  after(section) {
    const about = section.about ? [el("p", { class: "rs-help", text: section.about })] : [];
    const named = this.fields.filter(({ name }) => name === NAMES);
    const reading = section.names.includes(SOURCE) ? [this.about, ...named.map((field) => this.field(field))] : [];
    return [...reading, ...about, ...(section.views ? this.views() : [])];
  }

  /** A field, which can be drawn anew in its place. */
  field(field, section = {}) {
    const [now, there] = asRead(field, this.report);
    const shown = section.title && section.fields?.length === 1 && !section.folded ? { ...now, label: section.title, help: "" } : now;
    const node = labelled(shown, this.control(now));
    node.hidden = there === false;
    this.nodes.set(field.name, node);
    return node;
  }

  control(field) {
    const { name, control } = field;
    const value = this.values[name];
    const set = (next, chosen) => this.set(field, next, chosen);
    if (control === "images") return images(field, value, set, this.all);
    if (control === "hierarchy") return hierarchy(field, value, set, this.all.registries[field.registry], this.tree);
    if (control === "levels") return levels(field, value, set, this.report);
    if (control === "run") return starters(this.kind.name, value, (next, sets) => { this.values[name] = next; this.take(sets); });
    const entries = this.all.registries[field.registry];
    if (control === "entry") return entry(field, value, set, entries);
    if (control === "entries") return arms(field, value, set, entries);
    return PLAIN[control](field, value, set);
  }

  set(field, value, chosen) {
    this.values[field.name] = value;
    if (field.name === SOURCE && chosen) this.take(Object.fromEntries(OF_IMAGES.map((name) => [name, this.defaults[name]])));
    if (field.sets?.[chosen]) this.take(field.sets[chosen]);
    if (field.name === SOURCE || OF_IMAGES.includes(field.name)) {
      if (field.name !== NAMES) this.take({ [NAMES]: this.defaults[NAMES] }); // the levels may be others
      this.look();
    }
    this.changed();
  }

  /** Set some settings and draw their fields anew. */
  take(settings) {
    for (const [name, value] of Object.entries(settings)) if (name in this.values) this.values[name] = value;
    this.redraw(Object.keys(settings));
    if (SOURCE in settings) this.look();
    this.changed();
  }

  redraw(names) {
    for (const name of names) {
      const node = this.nodes.get(name);
      const section = this.kind.sections.find((section) => section.names.includes(name));
      node?.replaceWith(this.field(this.fields.find((field) => field.name === name), section));
    }
  }

  /** Look what is in the images that are chosen. `first`: they come from an earlier visit, or are the default. */
  async look(first = false) {
    if (!(SOURCE in this.values)) return;
    this.looks = (this.looks ?? 0) + 1;
    const turn = this.looks;
    if (!this.values[SOURCE] && !first) {
      this.about.replaceChildren(el("p", { class: "rs-help", role: "status", text: "No images are chosen yet." }));
      return;
    }
    const slow = setTimeout(() => looking(this.about, () => this.cancelLook()), 150);
    const report = await post("form/look", this.asked).catch((error) => ({ problems: [error.message] }));
    clearTimeout(slow);
    if (turn !== this.looks) return;
    if (first && report.problems.length && (!this.all.folders || !this.values[SOURCE])) { // nothing, or a folder of another page of this browser
      this.take(Object.fromEntries([SOURCE, ...OF_IMAGES].map((name) => [name, this.defaults[name]])));
      return;
    }
    const { activeElement: focus } = document;
    this.report = report;
    const source = this.values[SOURCE];
    // a mapping that is refused leaves the table that is to be mended
    if (report.classes?.length || this.tree?.source !== source) this.tree = { ...report, source };
    this.nodes.get("data.hierarchy")?.querySelector(".rs-superclasses")?.update(this.tree);
    described(this.about, report, this.kind.unlabelled, (name) => openOriginal("form/original", { ...this.asked, name }));
    if (report.unlabelled && this.all.maps) this.about.append(this.asMap());
    this.begin(report.begins ?? {}, first);
    this.redraw(OF_IMAGES.filter((name) => name !== "data.hierarchy" && !this.nodes.get(name)?.contains(focus)));
  }

  /** The way to see images without classes: the map of a published encoder, opened in Live while its features are read. */
  asMap() {
    const problem = new Problem();
    const show = button("Show them as a map", async () => {
      show.disabled = true;
      problem.say(null);
      try {
        toLive((await post("form/map", this.asked)).id);
      } catch (error) {
        problem.say(error.message);
      } finally {
        show.disabled = false;
      }
    });
    const words = "A map of published features, with nearest images, needs no classes and no training. Classes add losses to train, and numbers.";
    return el("div", { class: "rs-stack rs-tight" }, el("p", { class: "rs-help", text: words }), show, problem.node);
  }

  /** Wait no longer for what is in the images; they can still be trained on. */
  cancelLook() {
    this.looks += 1;
    this.about.replaceChildren(el("p", { class: "rs-help", role: "status", text: "Cancelled. Train looks again." }));
  }

  /** Settings that these images begin with in place of the defaults, unless somebody has chosen others. */
  begin(settings, first) {
    const before = this.begun ?? {};
    this.begun = settings;
    const value = (name, from) => (name in from ? from[name] : this.defaults[name]);
    const names = [...new Set([...Object.keys(before), ...Object.keys(settings)])];
    const kept = (name) => JSON.stringify(this.values[name]) === JSON.stringify(value(name, before));
    const free = [["steps"], names.filter((name) => name !== "steps")].filter((group) => group.every(kept)).flat();
    if (!first && names.length) this.take(Object.fromEntries(free.map((name) => [name, value(name, settings)])));
  }

  /** A button that shows augmented views of some of the images. */
  views() {
    const shown = el("div", { class: "rs-views" });
    const problem = new Problem();
    const ask = button("Preview the views", async () => {
      ask.disabled = true;
      problem.say(null);
      try {
        const { views = [], said = "", problem: wrong } = await post("form/views", this.asked);
        problem.say(wrong);
        const tiles = views.map((image, i) => el("li", { class: "rs-viewgroup" }, ...image.map((src, view) => el("img", { src, alt: `Image ${i + 1}, view ${view + 1}` }))));
        shown.replaceChildren(...(views.length ? [el("ul", { class: "rs-viewlist" }, ...tiles), el("p", { class: "rs-help", role: "status", text: said })] : []));
      } catch (error) {
        shown.replaceChildren();
        problem.say(error.message);
      } finally {
        ask.disabled = false;
      }
    });
    return [ask, shown, problem.node];
  }
}

/** The run whose encoder a run starts from, among the arms of runs that have one; `changed(value, settings)`: those that come
 * with the arm. */
function starters(kind, value, changed) {
  let runs = [];
  const node = select((chosen) => changed(chosen || null, runs.find((run) => run.value === chosen)?.sets ?? {}));
  const offer = () => {
    const known = !value || runs.some((run) => run.value === value);
    choose(node, [{ name: "", title: "None: random or published weights" }, ...(known ? [] : [{ name: value, title: value }]),
      ...runs.map((run) => ({ name: run.value, title: run.title }))], value ?? "");
  };
  offer();
  json(`form/starters/${kind}`).then((reply) => { runs = reply.runs; offer(); }, () => {});
  return node;
}
