// The tab "Remove an object": take an object out of an image and see what each model still says about it.

import { token } from "../common/api.js";
import { el } from "../common/dom.js";
import { saveCsv, acceptFiles } from "../common/files.js";
import { Newest } from "../common/newest.js";
import * as api from "./api.js";
import { Problem } from "../common/fields.js";
import { Filled } from "./filled.js";
import { Benchmark } from "./benchmark.js";
import { Finetune } from "./finetune.js";
import { Original } from "./original.js";
import { ImageStrip } from "./image_strip.js";
import { Reading } from "./reading.js";
import { beside, suggestion, unfinished } from "./removal.js";
import { Captions } from "./captions.js";
import { Settings } from "./settings.js";
import { captionRows } from "./table.js";

const SIDE = 768;
const AGAIN = 3000;
const PATIENCE = 1; // s: the image waits no longer for captions that are still read
const LATE = 1200; // ms; a model that still reads the captions is asked again

/** `act(action, payload)` asks the server to change something; `public`: only a run's owner may change it. */
export function mount(element, options) {
  const host = element.querySelector(".rs-object") ?? element;
  if (!host.rankscope) host.rankscope = new RemoveAnObject(host, options);
}

class RemoveAnObject {
  constructor(host, { act }) {
    Object.assign(this, { host, image: null, remove: null });
    this.build((action, payload) => act(action, { token: token(), ...payload }));
    this.asking = new Newest(api.query, (reply, asked) => this.answered(reply, asked), (error) => this.failed(error));
    // the models are loaded when the tab is first visible
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
    this.settings = new Settings({ dataset: (dataset) => this.openDataset(dataset), models: () => this.models(), fill: () => this.ask() });
    this.strip = new ImageStrip({ choose: (ref) => this.open(ref), upload: (file) => this.upload(file), fail });
    this.original = new Original({
      remove: (remove) => this.take(remove),
      name: async (box) => (await api.nameIt(this.image.ref, box, this.settings.chosen[0])).names,
      detect: (detector) => this.detect(detector),
      fail,
    });
    this.filled = new Filled();
    this.captions = new Captions({ csv: () => saveCsv(captionRows(this.reply), "rankscope-captions.csv"), count: () => this.ask() });
    this.reading = new Reading((names) => names.map((name) => this.settings.title(name)));
    this.captions.node.append(this.reading.node);
    this.benchmark = new Benchmark({ settings: this.settings, open: (ref, removed) => this.open(ref, removed, true) });
    this.finetune = new Finetune({ act, settings: this.settings, use: (name) => this.useModel(name) });
    this.pair = el("div", { class: "rs-pair" }, this.original.node, this.filled.node);
    acceptFiles(this.pair, (file) => this.upload(file));
    const picking = el("div", { class: "rs-stack rs-tight" }, this.settings.node, this.strip.node);
    this.host.replaceChildren(picking, this.problem.node, this.pair, this.captions.node, this.benchmark.node, this.finetune.node);
    this.original.stage.shape(1, 1);
    this.filled.stage.shape(1, 1);
    this.captions.wait(["", ""]);
  }

  async begin() {
    try {
      const start = await api.start();
      this.problem.say(null);
      this.dataset = start.datasets.find(({ name }) => name === start.dataset);
      this.settings.load(start);
      this.original.setClasses(this.dataset?.classes ?? []);
      this.finetune.load(start);
      this.benchmark.load(start);
      this.captions.wait(this.settings.titles);
      this.strip.load(start.dataset);
      await this.open(start.first, start.taken ? [start.taken] : null);
    } catch (error) {
      this.problem.say(`${error.message} Trying again.`);
      setTimeout(() => this.begin(), AGAIN);
    }
  }

  // ----------------------------------------------------------------- image

  async openDataset(dataset) {
    this.dataset = dataset;
    this.original.setClasses(dataset.classes ?? []);
    await this.strip.load(dataset.name);
    if (this.strip.items.length && this.dataset === dataset) await this.open(this.strip.items[0].ref);
  }

  /** Show an image and take something out of it: `removed` classes, or a suggested one. */
  async open(ref, removed = null, scroll = false) {
    const turn = (this.turn = {});
    this.strip.mark(ref);
    if (scroll) this.pair.scrollIntoView({ block: "start" });
    try {
      const image = await api.image(ref);
      if (turn === this.turn) this.showImage(image, removed);
    } catch (error) {
      if (turn === this.turn) this.failed(error);
    }
  }

  showImage(image, removed = null) {
    this.image = image;
    this.problem.say(null);
    clearTimeout(this.later);
    this.asking.cancel();
    this.remove = null;
    this.strip.mark(image.ref);
    this.settings.rerender(image.rerender);
    const url = api.imageUrl(image.ref, SIDE);
    this.original.show(image, url);
    this.filled.show(image, url);
    const classes = removed?.length ? removed : suggestion(image);
    this.captions.wait(this.settings.titles);
    this.filled.showPrompt(!classes);
    if (classes) this.take({ classes });
    else this.captions.reset();
  }

  async upload(file) {
    const turn = (this.turn = {});
    this.problem.say(null);
    try {
      const image = await api.upload(file);
      if (turn !== this.turn) return;
      this.showImage(image);
      if (image.notes.length) this.filled.showNotes(image.notes);
    } catch (error) {
      if (turn === this.turn) this.problem.say(error.message);
    }
  }

  async detect(detector) {
    const { image } = this;
    try {
      const reply = await api.detect(image.ref, detector);
      if (image !== this.image) return;
      if (!reply.objects.length) this.problem.say(reply.notes.join(" ") || "Nothing was found. Draw a box around what to remove.");
      else this.showImage({ ...image, objects: reply.objects });
    } catch (error) {
      this.problem.say(error.message);
    }
  }

  // ------------------------------------------------------------------- ask

  take(remove) {
    this.remove = remove;
    const names = remove.classes ?? [remove.class];
    const along = this.image.objects.find((object) => object.class === names[0])?.removes ?? [];
    this.original.mark(remove.classes ? [...names, ...along] : []);
    this.ask();
  }

  models() {
    this.captions.wait(this.settings.titles);
    this.ask();
  }

  ask() {
    if (!this.remove) return;
    clearTimeout(this.later);
    this.problem.say(null);
    this.reading.hide();
    this.filled.showPrompt(false);
    this.filled.wait(this.remove.classes ?? [this.remove.class]);
    this.captions.busy(true);
    this.asking.request({ image: this.image.ref, remove: this.remove, ...beside(this.image, this.dataset?.name), fill: this.settings.fill, models: this.settings.chosen, k: this.captions.k, patience: PATIENCE });
  }

  answered(reply, asked) {
    this.reply = reply;
    const shown = this.filled.fill(reply, api.filledUrl(reply.filled));
    this.captions.show(reply);
    if (this.remove?.classes) this.original.mark(reply.removed);
    clearTimeout(this.later);
    if (unfinished(reply)) this.later = setTimeout(() => this.asking.request(asked), LATE);
    shown.then(() => this.afterwards(reply, asked)); // what takes long begins when the image is there
  }

  /** What can wait until the first answer is shown. */
  afterwards(reply, asked) {
    if (reply.recorded && reply === this.reply) this.reading.begin(reply.dataset, asked.models);
    if (this.detectorsAsked) return;
    this.detectorsAsked = true;
    api.detectors().then(({ detectors }) => {
      this.original.naming.detectors(detectors, this.image);
      this.settings.detectors(detectors);
    }, (error) => {
      this.detectorsAsked = false;
      this.problem.say(error.message);
    });
  }

  failed(error) {
    this.filled.fail();
    this.captions.busy(false);
    this.problem.say(error.message);
  }

  /** A fine-tuned model joins the list and the comparison. */
  async useModel(name) {
    const start = await api.start().catch(() => null);
    if (start) this.settings.start.models = start.models;
    this.settings.use(name);
    this.pair.scrollIntoView({ block: "start" });
  }
}
