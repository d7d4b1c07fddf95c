// The editor of superclasses: groups are proposed by their names, then split, merged, renamed, reviewed; classes moved or
// dropped; groups put under further ones. Every step can be taken back. What comes out is a table that a mapping reads.

import { post } from "../common/api.js";
import { el, grouped, say } from "../common/dom.js";
import { button, field, iconButton, number, Problem, segments, select, text } from "../common/fields.js";
import { csv, saveCsv } from "../common/files.js";
import { coarseToFine } from "../common/names.js";
import { ClassCards, counted } from "./class_cards.js";
import { MOST_BYTES, read } from "./class_csv.js";
import * as tree from "./class_tree.js";
import { Undo } from "./undo.js";

const WAYS = [{ name: "meaning", title: "what they mean (CLIP)" }, { name: "words", title: "the words they share" }];
const HINT = "Choose classes to move or drop them, groups to merge or split them.";
let count = 0;

export class ClassEditor {
  /** `used(table)`: with the text of the table. */
  constructor(used) {
    this.used = used;
    count += 1;
    this.list = el("datalist", { id: `rs-groups-${count}` });
    this.cards = new ClassCards({
      chosen: () => this.acts(),
      moved: (items, group) => this.move(items, group),
      renamed: (group, name) => this.step((now) => tree.renamed(now, this.layer, group, name), `Renamed to ${name.trim()}`),
      keys: (event, item) => this.keys(event, item),
    });
    this.problem = new Problem();
    this.status = el("p", { class: "rs-note", role: "status" });
    this.about = el("p", { class: "rs-note" });
    this.node = el("dialog", { class: "rs-classeditor", "aria-label": "Editor of superclasses" }, this.head(), this.tools(), this.problem.node, this.cards.node, this.foot(), this.list);
    this.shortcuts = (event) => this.shortcut(event);
    this.node.addEventListener("close", () => window.removeEventListener("keydown", this.shortcuts));
  }

  /** Open it with a tree; one that was left with the same classes goes on as it was. */
  open(begun, said = "") {
    const names = JSON.stringify(begun.classes);
    if (this.names !== names || this.begun !== JSON.stringify(tree.rowsOf(begun))) {
      this.undo = new Undo(begun);
      this.names = names;
      this.begun = JSON.stringify(tree.rowsOf(begun));
      this.layer = 0;
      this.number.value = Math.max(2, Math.round(Math.sqrt(begun.classes.length)));
    }
    this.problem.say(null);
    say(this.status, said);
    this.node.showModal();
    window.addEventListener("keydown", this.shortcuts); // what had the focus may have gone with a step
    this.draw();
    this.cards.node.focus({ preventScroll: true });
  }

  get now() {
    return this.undo.now;
  }

  head() {
    this.back = button("Undo", () => this.again("undo"));
    this.forth = button("Redo", () => this.again("redo"));
    return el("header", { class: "rs-editorhead" },
      el("div", { class: "rs-editortitle" }, el("h2", { text: "Superclasses" }), this.about),
      el("div", { class: "rs-flow" }, this.back, this.forth),
      iconButton("close", "Close the editor", () => this.node.close()));
  }

  tools() {
    this.number = number(2, 2, 2000);
    this.by = select(() => {}, WAYS, "meaning");
    this.group = button("Group similar names", () => this.cluster());
    this.find = el("input", { class: "rs-input", type: "search", placeholder: "class or group" });
    this.find.addEventListener("input", () => this.cards.show(this.now, this.layer, this.find.value));
    const file = el("input", { type: "file", accept: ".csv,.tsv,.txt", class: "rs-unseen", tabindex: -1, "aria-label": "A table of classes and superclasses" });
    file.addEventListener("change", () => {
      if (file.files.length) this.load(file.files[0]);
      file.value = "";
    });
    this.levels = el("div", { class: "rs-editorlevels" });
    return el("div", { class: "rs-editortools" },
      el("div", { class: "rs-editorrow" }, field("Groups", this.number, { class: "rs-field rs-short" }), field("Similar in", this.by), this.group,
        field("Find", this.find, { class: "rs-field rs-find" }), button("Open a CSV", () => file.click()), file, button("Download as CSV", () => saveCsv(tree.rowsOf(this.now), "superclasses.csv"))),
      this.levels);
  }

  /** The levels, of which one is looked at, their names, and how one is put above. */
  drawLevels() {
    const { levels, layers } = this.now;
    const drawn = JSON.stringify([levels, this.layer, layers.at(-1).groups.length < 2]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const held = this.levels.contains(document.activeElement);
    const ways = layers.map((_, layer) => [String(layer), coarseToFine(levels.slice(layer, layer + 2))]);
    const seen = segments("Level", ways, String(this.layer), (layer) => this.look(Number(layer)));
    const name = text("superclass", { value: levels[this.layer + 1], maxlength: 60, "aria-label": "Name of this level" });
    name.addEventListener("change", () => {
      this.step((now) => tree.levelRenamed(now, this.layer + 1, name.value), "Renamed the level");
      name.value = this.now.levels[this.layer + 1];
    });
    const into = text("human-made, natural", { maxlength: 400, "aria-label": "Groups above: names with commas, or how many" });
    const raise = button("Put a level above", () => this.raise(into.value));
    raise.disabled = layers.at(-1).groups.length < 2;
    const last = layers.length > 1 ? [button("Remove the coarsest level", () => { this.layer = 0; this.step(tree.lowered, "Removed the coarsest level"); })] : [];
    this.levels.replaceChildren(...(layers.length > 1 ? [seen] : []), field("Name of the level", name), field("Groups above: names, or how many", into, { class: "rs-field rs-above" }), raise, ...last);
    if (held) this.levels.querySelector("input:checked, input[type=text]").focus();
  }

  foot() {
    this.to = text("a group, or a new name", { list: this.list.id, maxlength: tree.LONGEST });
    this.to.addEventListener("keydown", (event) => { if (event.key === "Enter") this.moveTo(); });
    this.parts = number(2, 2, 2000);
    this.ofItems = el("div", { class: "rs-editoracts" }, field("Move to", this.to, { class: "rs-field rs-moveto" }), button("Move", () => this.moveTo()), this.leave = button("Drop", () => this.move([...this.cards.items], null), "rs-danger"));
    this.merge = button("Merge", () => this.step((now) => tree.merged(now, this.layer, [...this.cards.groups]), "Merged"));
    this.ofGroups = el("div", { class: "rs-editoracts" }, this.merge, field("Parts", this.parts, { class: "rs-field rs-short" }), this.cut = button("Split", () => this.split()),
      button("Drop their classes", () => this.step((now) => tree.dropped(now, this.layer, [...this.cards.groups]), "Dropped the classes of these groups"), "rs-danger"));
    this.none = button("Choose none", () => this.cards.clear());
    this.chosen = el("p", { class: "rs-editorchosen" });
    return el("footer", { class: "rs-editorfoot" },
      el("div", { class: "rs-editorchoice" }, this.chosen, this.none, this.ofItems, this.ofGroups),
      el("div", { class: "rs-editorend" }, this.status, button("Use these groups", () => this.use(), "rs-primary")));
  }

  look(layer) {
    this.layer = layer;
    this.draw();
    this.levels.querySelector("input:checked")?.focus();
  }

  draw() {
    const { now } = this;
    this.layer = Math.min(this.layer, now.layers.length - 1);
    this.cards.show(now, this.layer, this.find.value);
    this.drawLevels();
    this.list.replaceChildren(...now.layers[this.layer].groups.map(({ name }) => el("option", { value: name })));
    this.back.disabled = !this.undo.past.length;
    this.forth.disabled = !this.undo.future.length;
    say(this.about, summary(now));
    this.acts();
  }

  /** What can be done with what is chosen. */
  acts() {
    const { items, groups } = this.cards;
    const what = this.layer ? ["group", "groups"] : ["class", "classes"];
    const words = [...(items.size ? [counted(items.size, ...what)] : []), ...(groups.size ? [counted(groups.size, this.layer ? "upper group" : "group", this.layer ? "upper groups" : "groups")] : [])];
    say(this.chosen, words.length ? `${words.join(" and ")} chosen.` : HINT);
    this.ofItems.hidden = !items.size;
    this.ofGroups.hidden = !groups.size;
    this.none.hidden = !words.length;
    this.leave.hidden = this.layer > 0;
    this.merge.disabled = groups.size < 2;
    this.cut.disabled = groups.size !== 1;
  }

  /** Make a step; one that cannot be made is said. `more`: further sentences about it. */
  step(change, words, more = []) {
    this.problem.say(null);
    try {
      const before = this.now;
      const next = change(before);
      if (next === before) return;
      this.undo.step(next, words);
      const lost = cost(next) - cost(before);
      say(this.status, [`${words}.`, ...more, ...(lost > 0 ? [`${counted(lost, "image", "images")} left out.`] : [])].join(" "));
    } catch (error) {
      this.problem.say(error.message);
    }
    this.draw();
  }

  again(way) {
    const words = this.undo[way]();
    if (words === null) return;
    this.problem.say(null);
    say(this.status, `${way === "undo" ? "Taken back" : "Made again"}: ${words}.`);
    this.draw();
  }

  move(items, group) {
    if (!items.length) return;
    if (group === null && this.layer) return;
    const what = this.named(items);
    const name = group === null ? "" : this.now.layers[this.layer].groups.find(({ id }) => id === group).name;
    this.step((now) => tree.moved(now, this.layer, items, group), group === null ? `Dropped ${what}` : `Moved ${what} to ${name}`);
    this.cards.clear();
  }

  named(items) {
    return items.length === 1 ? tree.itemName(this.now, this.layer, items[0]) : counted(items.length, this.layer ? "group" : "class", this.layer ? "groups" : "classes");
  }

  /** Move what is chosen to the group that is written, a new one if there is none of this name. */
  moveTo() {
    const name = this.to.value.trim();
    const items = [...this.cards.items];
    if (!items.length || !name) {
      this.to.focus();
      return;
    }
    const group = tree.groupNamed(this.now, this.layer, name);
    if (group) this.move(items, group.id);
    else this.step((now) => tree.movedToNew(now, this.layer, items, name), `Moved ${this.named(items)} to the new group ${name}`);
    this.to.value = "";
    this.cards.clear();
    this.cards.node.focus();
  }

  /** Ask the server which of some names go together: {of, named_after}; null where it says what is wrong. */
  async ask(classes, more) {
    this.problem.say(null);
    this.node.setAttribute("aria-busy", "true");
    this.node.classList.add("rs-busy");
    const asked = this.now;
    try {
      const answer = await post("form/groups", { classes: classes.map((i) => asked.classes[i].name), by: this.by.value, ...more });
      if (answer.problem) this.problem.say(`${answer.problem} Or compare names by the words they share.`);
      return answer.problem || this.now !== asked ? null : answer;
    } catch (error) {
      this.problem.say(error.message);
      return null;
    } finally {
      this.node.removeAttribute("aria-busy");
      this.node.classList.remove("rs-busy");
    }
  }

  /** Items of a layer as the server takes them: their classes, and of which item each is. */
  asked(items) {
    const under = items.map((item) => tree.classesUnder(this.now, this.layer, [item]));
    return { classes: under.flat(), more: this.layer ? { groups: under.flatMap((classes, i) => classes.map(() => i)) } : {} };
  }

  async cluster() {
    const { classes, more } = this.asked(tree.kept(this.now, this.layer));
    const made = await this.ask(classes, { ...more, count: Number(this.number.value) });
    if (made) this.step((now) => tree.clustered(now, this.layer, made.of, made.named_after), `Made ${this.number.value} groups of similar names`);
  }

  async split() {
    const [group] = this.cards.groups;
    const items = tree.members(this.now, this.layer).get(group);
    const parts = Number(this.parts.value);
    const { name } = this.now.layers[this.layer].groups.find(({ id }) => id === group);
    if (items.length < parts) {
      this.problem.say(`${name.slice(0, 60)} has ${items.length}, too few to make ${parts} groups of them.`);
      return;
    }
    const each = items.map((_, i) => i); // as many parts as items: nothing to compare
    const { classes, more } = this.asked(items);
    const made = items.length === parts ? { of: each, named_after: each } : await this.ask(classes, { ...more, count: parts });
    if (made) this.step((now) => tree.split(now, this.layer, group, made.of, made.named_after), `Split ${name} in ${parts}`);
  }

  /** Put a level above the coarsest: so many clusters of its groups, or groups of these names. */
  async raise(written) {
    const layer = this.now.layers.length - 1;
    const names = [...new Set(written.split(",").map((word) => word.trim()).filter(Boolean))];
    const wanted = /^\d+$/.test(written.trim()) ? Number(written) : null;
    if (wanted === null && names.length < 2) {
      this.problem.say("Two names or more with commas between them are needed, such as human-made, natural; or how many groups to make.");
      return;
    }
    const { groups } = this.now.layers[layer];
    const under = groups.map((each) => tree.classesUnder(this.now, layer + 1, [each.id]));
    const of = under.flatMap((classes, i) => classes.map(() => i));
    const made = await this.ask(under.flat(), wanted === null ? { groups: of, into: names } : { groups: of, count: wanted });
    if (!made) return;
    const title = ["top", ...Array.from({ length: 9 }, (_, i) => `level ${i + 4}`)].find((each) => !this.now.levels.includes(each));
    this.layer = layer + 1;
    const titles = wanted === null ? names : made.named_after.map((item) => groups[item].name);
    const empty = titles.filter((_, i) => !made.of.includes(i)); // of names that are given
    const none = empty.length ? `; nothing is nearest to ${empty.join(", ")}` : "";
    this.step((now) => tree.raised(now, title, made.of, titles), `Put ${counted(titles.length - empty.length, "group", "groups")} above${none}`);
    this.cards.clear();
  }

  async load(file) {
    this.problem.say(null);
    if (file.size > MOST_BYTES) {
      this.problem.say(`A table may have ${grouped(MOST_BYTES)} bytes; ${file.name.slice(0, 60)} has ${grouped(file.size)}.`);
      return;
    }
    try {
      const { tree: next, said } = read(await file.text(), this.now.classes);
      this.step(() => next, "Opened the table", said);
    } catch (error) {
      this.problem.say(error.message);
    }
  }

  use() {
    const table = csv(tree.rowsOf(this.now));
    const bytes = new Blob([table]).size;
    if (bytes > MOST_BYTES) {
      this.problem.say(`The table has ${grouped(bytes)} bytes, more than ${grouped(MOST_BYTES)}. Use shorter names of groups, or download it and train from the command line.`);
      return;
    }
    this.begun = JSON.stringify(tree.rowsOf(this.now));
    this.node.close();
    this.used(table);
  }

  keys(event, item) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.move(this.cards.items.has(item) ? [...this.cards.items] : [item], null);
    } else if (event.key === "m") {
      event.preventDefault();
      if (!this.cards.items.has(item)) event.target.click();
      this.to.focus();
    }
  }

  shortcut(event) {
    const typing = event.target.matches("input[type=text], input[type=search], input[type=number]");
    if (!(event.ctrlKey || event.metaKey) || typing) return;
    const key = event.key.toLowerCase();
    const way = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
    if (!way) return;
    event.preventDefault();
    this.again(way);
  }
}

/** Images of the classes that are dropped. */
const cost = (now) => tree.imagesOf(now, tree.members(now, 0).get(null));

function summary(now) {
  const gone = tree.members(now, 0).get(null);
  const { groups } = now.layers[0];
  const upper = now.layers.slice(1).map((layer, i) => `${grouped(layer.groups.length)} in ${now.levels[i + 2]}`);
  const known = now.classes.some(({ images }) => images !== null);
  return [
    counted(now.classes.length - gone.length, "class", "classes"),
    counted(groups.length, "group", "groups"),
    ...upper,
    ...(gone.length ? [`${counted(gone.length, "class", "classes")} dropped${known ? ` with ${counted(cost(now), "image", "images")}` : ""}`] : []),
  ].join(" · ");
}
