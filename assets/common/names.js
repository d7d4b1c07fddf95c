// Names from datasets as they are shown: of any length, in any script, with anything in them.

/** Letters of a name in a line of its own, and in a tooltip. The style cuts sooner where a line is short. */
const SHOWN = 80;
const IN_FULL = 400;

const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;
const DIRECTIONS = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu; // they would turn around what stands beside the name
const MARKS = /(\p{M}{3})\p{M}+/gu; // more than three on a letter reach into the lines above and below
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** One line of at most `most` letters that does not change the text around it. */
export function brief(text, most = SHOWN) {
  // cut before looking closer: a name may be of any length
  const start = String(text ?? "").slice(0, most * 8);
  const plain = start.replace(CONTROLS, " ").replace(DIRECTIONS, "").replace(MARKS, "$1");
  const letters = Array.from(plain);
  const whole = letters.length <= most && start.length === String(text ?? "").length;
  const cut = whole ? plain : `${letters.slice(0, most - 1).join("").trimEnd()}…`;
  return RIGHT_TO_LEFT.test(cut) ? `\u2068${cut}\u2069` : cut; // isolated: the names beside it keep their order
}

/** The same for a tooltip: longer, and still bounded. */
export const inFull = (text) => brief(text, IN_FULL);

/** Names finest first, as a path that goes coarse to fine: "Packages › Juice". */
export const coarseToFine = (names) => [...names].reverse().join(" › ");

/** A text as the beginning of a sentence; it is not empty. */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A title as it stands inside a sentence; names in capitals or with capitals inside keep theirs. */
export const inSentence = (title) => (/^[A-Z][a-z ]/.test(title) ? title[0].toLowerCase() + title.slice(1) : title);
