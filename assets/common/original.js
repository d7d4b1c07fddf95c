// The photograph behind a thumbnail, in a window over the page.

import { post } from "./api.js";
import { el, say } from "./dom.js";
import { button } from "./fields.js";

const image = el("img", { alt: "" });
const words = el("p", { class: "rs-note", role: "status" });
const view = el("dialog", { class: "rs-original", "aria-label": "The original image" }, image, el("div", { class: "rs-flow" }, words, button("Close", () => view.close())));
view.addEventListener("click", ({ target }) => target !== words && view.close());

/** Ask the server at `path` for an image, {image: address, words}, and show it; what goes wrong stands in its place. */
export async function openOriginal(path, asked) {
  const turn = (view.turn = {});
  image.removeAttribute("src");
  say(words, "Opening …");
  if (!view.isConnected) document.body.append(view);
  if (!view.open) view.showModal();
  const shown = await post(path, asked).catch((error) => ({ words: error.message }));
  if (turn !== view.turn) return;
  if (shown.image) Object.assign(image, { src: shown.image, alt: shown.words });
  say(words, shown.words);
}

/** A button that opens the original of the image of a gallery that `picture` shows: `asked()` is {run, gallery, row}. */
export function originalButton(picture, asked) {
  const open = () => openOriginal("retrieval/original", asked());
  picture.addEventListener("click", () => made.hidden || open());
  picture.classList.add("rs-opens");
  const made = button("Original", open);
  made.title = "Show the whole photograph, as large as it is";
  return made;
}
