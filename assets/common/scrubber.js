// Play, step and drag through the frames of a run.

import { clamp, el, grouped, say, setIcon } from "./dom.js";
import { iconButton } from "./fields.js";

const WHOLE_REPLAY_MS = 16000;
const SLOWEST = 800;
const FASTEST = 160;
const REFINED = "The last map, computed again with more epochs.";

/** `on`: {seek(place), playing(bool)}. Places are indices into the list of frames. */
export class Scrubber {
  constructor(on) {
    this.on = on;
    this.frames = [];
    this.place = 0;
    this.timer = null;
    this.play = iconButton("play", "Play", () => this.toggle());
    this.back = iconButton("back", "One frame back", () => this.nudge(-1));
    this.ahead = iconButton("forward", "One frame on", () => this.nudge(1));
    this.range = el("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Frame", class: "rs-range" });
    this.range.addEventListener("input", () => {
      this.stop();
      this.on.seek(Number(this.range.value));
    });
    this.text = el("span", { class: "rs-note rs-steptext" });
    this.node = el("div", { class: "rs-flow rs-scrubber" }, this.play, this.back, this.ahead, this.range, this.text);
    this.update([], 0);
  }

  /** `frames`: [[k, step, 1 if it is the refined one]]; `place`: the one shown. */
  update(frames, place) {
    this.frames = frames;
    this.place = place;
    const last = Math.max(frames.length - 1, 0);
    this.range.max = last;
    this.range.value = place;
    this.range.style.setProperty("--rs-part", last ? `${(place / last) * 100}%` : "100%");
    for (const control of [this.play, this.back, this.ahead, this.range]) control.disabled = last < 1;
    const [, step, refined] = frames[place] ?? [];
    const words = step === undefined ? "no frames yet" : `step ${grouped(step)}${refined ? ", refined" : ""} · ${frames.length} ${frames.length === 1 ? "frame" : "frames"}`;
    this.range.setAttribute("aria-valuetext", step === undefined ? words : `step ${step}${refined ? ", refined map" : ""}, frame ${place + 1} of ${frames.length}`);
    say(this.text, words);
    this.text.title = refined ? REFINED : "";
    this.showPlayState();
  }

  showPlayState() {
    const [name, label] = this.timer
      ? ["pause", "Pause"]
      : this.place >= this.frames.length - 1
        ? ["replay", "Play again"]
        : ["play", "Play"];
    setIcon(this.play, name);
    this.play.setAttribute("aria-label", label);
    this.play.title = label;
  }

  get interval() {
    return clamp(WHOLE_REPLAY_MS / Math.max(this.frames.length, 1), FASTEST, SLOWEST);
  }

  toggle() {
    if (this.timer) this.stop();
    else this.start(this.place >= this.frames.length - 1 ? 0 : this.place);
  }

  start(from) {
    this.stop();
    if (this.frames.length < 2) return;
    this.on.seek(from);
    // ask the frame's own arrival for the next one: a slow network slows the film, it does not skip it
    const next = async () => {
      if (!this.timer) return;
      const begun = performance.now();
      if (this.place >= this.frames.length - 1) return this.stop();
      await this.on.seek(this.place + 1);
      if (this.timer) this.timer = setTimeout(next, Math.max(0, this.interval - (performance.now() - begun)));
    };
    this.timer = setTimeout(next, this.interval);
    this.showPlayState();
    this.on.playing(true);
  }

  stop() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.showPlayState();
    this.on.playing(false);
  }

  nudge(by) {
    this.stop();
    this.on.seek(clamp(this.place + by, 0, this.frames.length - 1));
  }
}
