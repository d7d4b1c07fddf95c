// The tab "Remove an object": take an object out of a photo and see what each model still says about it.

import { token } from "../common/api.js";
import { el } from "../common/dom.js";
import { save } from "../live/downloads.js";
import * as api from "./api.js";
import { Problem } from "./fields.js";
import { Filled } from "./filled.js";
import { Measure } from "./benchmark.js";
import { Mend } from "./finetune.js";
import { Nearby } from "./neighbour_shift.js";
import { Original } from "./original.js";
import { Photos } from "./image_strip.js";
import { Reading } from "./reading.js";
import { beside, suggestion, unfinished } from "./removal.js";
import { Sentences } from "./captions.js";
import { Settings } from "./settings.js";
import { csv } from "./table.js";

const SIDE = 768;
const AGAIN = 3000;
const PATIENCE = 1; // s: the picture waits no longer for sentences that are still read
const LATE = 1200; // a model that still reads the sentences is asked again

/** `act(action, payload)` asks the server to change something; `public`: only a run's owner may change it. */
export function mount(element, options) {
  const host = element.querySelector(".rs-object") ?? element;
  if (!host.rankscope) host.rankscope = new RemoveAnObject(host, options);
}

class RemoveAnObject {
  constructor(host, { act }) {
    Object.assign(this, { host, photo: null, remove: null });
    this.build((action, payload) => act(action, { token: token(), ...payload }));
    this.asking = new api.Newest(api.answers, (reply, asked) => this.answered(reply, asked), (error) => this.failed(error));
    // the models are loaded only for somebody who looks
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      this.begin();
    });
    seen.observe(host);
  }

  build(act) {
    const fail = (sentence) => this.problem.say(sentence);
    this.problem = new Problem();
    this.settings = new Settings({ set: (set) => this.openSet(set), models: () => this.models(), fill: () => this.ask() });
    this.photos = new Photos({ choose: (ref) => this.open(ref), upload: (file) => this.upload(file), fail });
    this.original = new Original({
      remove: (remove) => this.take(remove),
      name: async (box) => (await api.nameIt(this.photo.ref, box, this.settings.chosen[0])).names,
      detect: (detector) => this.detect(detector),
      fail,
    });
    this.filled = new Filled();
    this.sentences = new Sentences({ csv: () => save(new Blob([csv(this.reply)], { type: "text/csv" }), "rankscope-sentences.csv"), count: () => this.ask() });
    this.reading = new Reading((names) => names.map((name) => this.settings.title(name)));
    this.sentences.node.append(this.reading.node);
    this.measure = new Measure({ settings: this.settings, open: (ref, removed) => this.open(ref, removed, true) });
    this.mend = new Mend({ act, settings: this.settings, use: (name) => this.useMended(name) });
    this.nearby = new Nearby(this.settings);
    this.pair = el("div", { class: "rs-pair" }, this.original.node, this.filled.node);
    this.photos.welcome(this.pair);
    const picking = el("div", { class: "rs-picking" }, this.settings.node, this.photos.node);
    this.host.replaceChildren(picking, this.problem.node, this.pair, this.sentences.node, this.measure.node, this.mend.node, this.nearby.node);
    this.original.stage.shape(1, 1);
    this.filled.stage.shape(1, 1);
    this.sentences.wait(["", ""]);
  }

  async begin() {
    try {
      const start = await api.start();
      this.problem.say(null);
      this.set = start.sets.find((set) => set.name === start.set);
      this.settings.load(start);
      this.original.know(this.set?.classes ?? []);
      this.mend.load(start);
      this.measure.load(start);
      this.sentences.wait(this.settings.titles);
      this.photos.load(start.set);
      await this.open(start.first, start.taken ? [start.taken] : null);
    } catch (error) {
      this.problem.say(`${error.message} It is tried again.`);
      setTimeout(() => this.begin(), AGAIN);
    }
  }

  // ----------------------------------------------------------------- photo

  async openSet(set) {
    this.set = set;
    this.original.know(set.classes ?? []);
    await this.photos.load(set.name);
    if (this.photos.items.length && this.set === set) await this.open(this.photos.items[0].ref);
  }

  /** Show a photo and take something out of it: `removed` classes, or what teaches most. */
  async open(ref, removed = null, scroll = false) {
    const turn = (this.turn = {});
    this.photos.mark(ref);
    if (scroll) this.pair.scrollIntoView({ block: "start" });
    try {
      const photo = await api.photo(ref);
      if (turn === this.turn) this.meet(photo, removed);
    } catch (error) {
      if (turn === this.turn) this.failed(error);
    }
  }

  meet(photo, removed = null) {
    this.photo = photo;
    this.problem.say(null);
    clearTimeout(this.later);
    this.asking.forget();
    this.remove = null;
    this.photos.mark(photo.ref);
    this.settings.rerender(photo.rerender);
    const url = api.imageUrl(photo.ref, SIDE);
    this.original.show(photo, url);
    this.filled.show(photo, url);
    const classes = removed?.length ? removed : suggestion(photo);
    this.sentences.wait(this.settings.titles);
    this.filled.rest(!classes);
    if (classes) this.take({ classes });
    else this.sentences.rest();
  }

  async upload(file) {
    const turn = (this.turn = {});
    this.problem.say(null);
    try {
      const photo = await api.upload(file);
      if (turn !== this.turn) return;
      this.meet(photo);
      if (photo.notes.length) this.filled.remark(photo.notes);
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    }
  }

  async detect(detector) {
    const { photo } = this;
    try {
      const found = await api.detect(photo.ref, detector);
      if (photo !== this.photo) return;
      if (!found.objects.length) this.problem.say(found.notes.join(" ") || "Nothing was found. Draw a box around what is to go.");
      else this.meet({ ...photo, objects: found.objects });
    } catch (error) {
      this.problem.say(error.message);
    }
  }

  // ------------------------------------------------------------------- ask

  take(remove) {
    this.remove = remove;
    const names = remove.classes ?? [remove.class];
    const along = this.photo.objects.find((object) => object.class === names[0])?.removes ?? [];
    this.original.mark(remove.classes ? [...names, ...along] : []);
    this.ask();
  }

  models() {
    this.sentences.wait(this.settings.titles);
    this.ask();
  }

  ask() {
    if (!this.remove) return;
    clearTimeout(this.later);
    this.problem.say(null);
    this.reading.rest();
    this.filled.rest(false);
    this.filled.wait(this.remove.classes ?? [this.remove.class]);
    this.sentences.busy(true);
    this.asking.ask({ photo: this.photo.ref, remove: this.remove, ...beside(this.photo, this.set?.name), fill: this.settings.fill, models: this.settings.chosen, k: this.sentences.k, patience: PATIENCE });
  }

  answered(reply, asked) {
    this.reply = reply;
    const shown = this.filled.fill(reply, api.filledUrl(reply.filled));
    this.sentences.show(reply);
    if (this.remove?.classes) this.original.mark(reply.removed);
    clearTimeout(this.later);
    if (unfinished(reply)) this.later = setTimeout(() => this.asking.ask(asked), LATE);
    shown.then(() => this.afterwards(reply, asked)); // what takes long begins when the picture is there
  }

  /** What nobody waits for at a first visit. */
  afterwards(reply, asked) {
    if (reply.recorded && reply === this.reply) this.reading.begin(reply.set, asked.models);
    if (this.finding) return;
    this.finding = true;
    api.detectors().then(({ detectors }) => {
      this.original.naming.detectors(detectors, this.photo);
      this.settings.finders(detectors);
    }, (error) => {
      this.finding = false;
      this.problem.say(error.message);
    });
  }

  failed(error) {
    this.filled.fail();
    this.sentences.busy(false);
    this.problem.say(error.message);
  }

  /** A mended model joins the list and the comparison. */
  async useMended(name) {
    const start = await api.start().catch(() => null);
    if (start) this.settings.start.models = start.models;
    this.settings.use(name);
    this.pair.scrollIntoView({ block: "start" });
  }
}
