// What is taken out of a photo: which object first, and how the server is told.

const NOTICEABLE = 0.015; // share of the photo

/** The smallest object that may go and can be seen: what stands by shows best whether a model guesses. */
export function suggestion(photo) {
  const allowed = photo.objects.filter((object) => object.allowed).sort((a, b) => a.share - b.share);
  const best = allowed.find((object) => object.share >= NOTICEABLE) ?? allowed.at(-1) ?? photo.objects[0];
  return best ? [best.class] : null;
}

/** The server keeps nothing of what was found in an upload, so those boxes are sent along. */
export function spelled(photo, remove) {
  if (!photo.found || !remove.classes) return remove;
  const object = photo.objects.find((one) => one.class === remove.classes[0]);
  return { class: object.class, boxes: object.boxes };
}
