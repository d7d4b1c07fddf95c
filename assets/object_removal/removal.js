// What is taken out of a photo: which object first, and how the server is told.

const NOTICEABLE = 0.015; // share of the photo

/** The smallest object that may go and can be seen: what stands by shows best whether a model guesses. */
export function suggestion(photo) {
  const allowed = photo.objects.filter((object) => object.allowed).sort((a, b) => a.share - b.share);
  const best = allowed.find((object) => object.share >= NOTICEABLE) ?? allowed.at(-1) ?? photo.objects[0];
  return best ? [best.class] : null;
}

/** What goes along with a question about an upload: whose sentences answer, and what a detector found in it. */
export function beside(photo, set) {
  if (photo.source !== "upload") return {};
  const objects = photo.objects.map((object) => ({ class: object.class, boxes: object.boxes }));
  return objects.length ? { set, objects } : { set };
}

/** Whether a model has not read all sentences yet, so that its answer will change. */
export const unfinished = (reply) => reply.models.some((model) => model.waiting || model.partial);
