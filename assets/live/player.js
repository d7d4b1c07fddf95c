// Which frame is shown: follows the newest one, or goes where the scrubber points.

import * as api from "../common/api.js";
import { reducedMotion } from "../common/dom.js";
import { placesOf, settled } from "./places.js";
import { MORPH } from "./scene.js";
import { Scrubber } from "../common/scrubber.js";

const PAST = 6; // frames kept for trails
const AHEAD = 2; // frames fetched early during a replay
const REFINED_MORPH = 1500; // ms: many epochs at once, worth watching

export class Player {
  constructor(live) {
    this.live = live;
    this.frames = [];
    this.past = [];
    this.k = null;
    this.scrubber = new Scrubber({
      seek: (place) => this.seek(place),
      playing: (on) => this.playing(on),
    });
    live.track.append(this.scrubber.node);
  }

  /** Version of the newest frame, -1 before the first. */
  get last() {
    return this.frames.at(-1)?.[0] ?? -1;
  }

  /** Step that the page speaks about: that of the frame, or of the run before there is one. */
  get step() {
    if (this.following || !this.frames.length) return Infinity;
    return this.frames[this.place]?.[1] ?? 0;
  }

  get busy() {
    return this.scrubber.timer !== null;
  }

  stop() {
    this.scrubber.stop();
  }

  /** A new run: replay a finished one once from its start, follow a running one. */
  async load(run, wanted) {
    Object.assign(this, { run, frames: run.frames, past: [], shown: null, k: null, place: 0, following: true });
    this.scrubber.update(this.frames, 0);
    if (!this.frames.length) return;
    const place = this.frames.findIndex(([k]) => k === wanted);
    const replay = place === -1 && !run.moving && this.frames.length > 2 && !reducedMotion();
    await this.seek(place !== -1 ? place : replay ? 0 : this.frames.length - 1);
    if (replay && this.run === run) this.scrubber.start(0);
  }

  /** Frames that a poll brought. */
  async extend(news) {
    const fresh = news.rewound ? news.frames : news.frames.filter(([k]) => k > this.last);
    if (news.rewound) this.frames = [];
    if (!fresh.length) return;
    this.frames = [...this.frames, ...fresh];
    this.info = news.frame;
    if (this.following && !this.busy) await this.seek(this.frames.length - 1, true);
    else this.scrubber.update(this.frames, this.place);
  }

  /** Show the frame at a place in the list. Resolves when it is on its way to the screen. `onward`: it follows from the one that
   * is shown, even if frames between them were left out. */
  async seek(place, onward = place === this.place + 1) {
    const [k] = this.frames[place] ?? [];
    if (k === undefined) return;
    const { run } = this;
    this.place = place;
    this.following = place === this.frames.length - 1;
    this.scrubber.update(this.frames, place);
    this.wanted = k;
    const frame = await api.frame(run.id, k, this.info?.k === k ? this.info : null);
    if (run.id !== this.run.id || this.wanted !== k) return;
    const places = onward ? settled(this.shown?.places, frame) : placesOf(frame);
    this.shown = { ...frame, places };
    this.remember(this.shown);
    this.k = k;
    const usual = frame.refined ? REFINED_MORPH : MORPH;
    const duration = this.busy && !frame.refined ? Math.min(MORPH, this.scrubber.interval) : usual;
    this.live.shown(this.shown, place === 0, duration);
    if (this.busy) this.fetchAhead(place);
  }

  /** Trails run along the frames that were shown in order; a jump starts a new one. */
  remember(frame) {
    const before = this.past.at(-1);
    if (before && before.k >= frame.k) this.past = [];
    if (before?.k !== frame.k) this.past = [...this.past, frame].slice(-PAST);
  }

  fetchAhead(place) {
    for (const [k] of this.frames.slice(place + 1, place + 1 + AHEAD)) api.frame(this.run.id, k).catch(() => {});
  }

  seekStep(step) {
    if (!this.frames.length) return;
    this.stop();
    const away = this.frames.map(([, at]) => Math.abs(at - step));
    this.seek(away.indexOf(Math.min(...away)));
  }

  playing(on) {
    if (!on && this.k !== null) this.live.results();
  }
}
