// What is taken out of an image: which object first, and how the server is told.

const NOTICEABLE = 0.015; // share of the image

/** The smallest object that may be removed and is large enough to be seen: small ones show best whether a model guesses. */
export function suggestion(image) {
  const allowed = image.objects.filter((object) => object.allowed).sort((a, b) => a.share - b.share);
  const best = allowed.find((object) => object.share >= NOTICEABLE) ?? allowed.at(-1) ?? image.objects[0];
  return best ? [best.class] : null;
}

/** What a query about an upload needs as well: the dataset whose captions are searched, and the detected objects. */
export function beside(image, dataset) {
  if (image.source !== "upload") return {};
  const objects = image.objects.map((object) => ({ class: object.class, boxes: object.boxes }));
  return objects.length ? { dataset, objects } : { dataset };
}

/** Whether a model has not read all captions yet, so that its answer will change. */
export const unfinished = (reply) => reply.models.some((model) => model.waiting || model.partial);
