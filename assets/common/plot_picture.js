// A part of the page as a picture to keep: its drawings, colour marks and texts, as they stand on the page.

import { el } from "./dom.js";
import { brief } from "./names.js";
import { SCALE, drawSvg } from "./svg_image.js";

const LINE = 18;
const MARKS = ".rs-swatch, .rs-keymark, .rs-rankmarks > span, .rs-scorebar, .rs-scorebar > span";

/** A canvas with what `node` shows, and below it the run and which colour is whose, if it is about a run. Buttons are left
 * out. */
export async function pictureOf(node, run = null) {
  const box = node.getBoundingClientRect();
  const arms = run?.arms ?? [];
  const below = run ? [brief(run.title, 120), `Run ${run.id}`] : [];
  const height = box.height + (arms.length + below.length) * LINE + (run ? 16 : 0);
  const page = el("canvas", { width: box.width * SCALE, height: height * SCALE });
  const pen = page.getContext("2d");
  pen.scale(SCALE, SCALE);
  const { backgroundColor, color } = getComputedStyle(node);
  pen.fillStyle = backgroundColor;
  pen.fillRect(0, 0, box.width, height);
  for (const svg of shown(node, "svg").filter((drawing) => !drawing.closest("button"))) await drawSvg(pen, svg, within(svg, box));
  for (const mark of shown(node, MARKS)) square(pen, mark, box);
  for (const text of textsOf(node)) write(pen, text, box);
  arms.forEach((arm, place) => legend(pen, node, arm, place, box.height + 4 + place * LINE, color));
  pen.fillStyle = color;
  pen.font = "12px system-ui, sans-serif";
  below.forEach((words, place) => pen.fillText(words, 12, box.height + 18 + (arms.length + place) * LINE, box.width - 24));
  return page;
}

const shown = (node, what) => [...node.querySelectorAll(what)].filter((element) => element.getClientRects().length);

/** The place of an element, counted from the corner of `box`. */
function within(node, box) {
  const { left, top, width, height } = node.getBoundingClientRect();
  return { left: left - box.left, top: top - box.top, width, height };
}

function square(pen, mark, box) {
  const { left, top, width, height } = within(mark, box);
  pen.fillStyle = getComputedStyle(mark).backgroundColor;
  pen.fillRect(left, top, width, height);
}

/** Every piece of text with the place where it stands, line by line. */
function* textsOf(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const { parentElement: parent } = text;
    if (parent.closest("button, svg, .rs-unseen, select") || !parent.getClientRects().length) continue;
    let line = null;
    for (const { 0: word, index } of text.data.matchAll(/[^\s-]+-*\s*|-+\s*/g)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.trimEnd().length);
      const at = range.getBoundingClientRect();
      if (line && Math.abs(line.at.top - at.top) < 2) line.words += word;
      else {
        if (line) yield line;
        line = { parent, at, words: word };
      }
    }
    if (line) yield line;
  }
}

function write(pen, { parent, at, words }, box) {
  const style = getComputedStyle(parent);
  pen.fillStyle = style.color;
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  pen.textBaseline = "middle";
  pen.fillText(words.trimEnd(), at.left - box.left, at.top - box.top + at.height / 2);
  pen.textBaseline = "alphabetic";
}

/** An arm's colour and title; the colour is that of a mark of it, made for the moment. */
function legend(pen, node, arm, place, top, color) {
  const mark = el("span", { class: `rs-ink rs-ink-${place}` });
  node.append(mark);
  pen.fillStyle = getComputedStyle(mark).color;
  mark.remove();
  pen.fillRect(12, top, 10, 10);
  pen.fillStyle = color;
  pen.font = "12px system-ui, sans-serif";
  pen.fillText(brief(arm.title, 120), 28, top + 9);
}
