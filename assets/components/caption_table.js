// The captions as a file: one row per model, image and rank.

const HEAD = ["image", "removed", "fill", "model", "for", "rank", "similarity", "verdict", "change", "caption"];

/** Rows of a reply to a query, the head first. */
export function captionRows(reply) {
  const rows = reply.models.flatMap((model) => ["removed", "original"].flatMap((side) => model[side].map((caption, rank) => row(reply, model, side, caption, rank))));
  return [HEAD, ...rows];
}

function row(reply, model, side, caption, rank) {
  const change = side === "original" ? (model.left.includes(rank) ? "left" : "stayed") : (caption.move ?? 0);
  const about = side === "original" ? "original image" : "filled image";
  return [reply.image, reply.removed.join("; "), reply.fill_title, model.title, about, rank + 1, caption.similarity, caption.verdict, change, caption.text];
}
