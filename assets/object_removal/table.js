// The sentences as a file: one row per model, photo and rank.

const HEAD = ["photo", "removed", "fill", "model", "for", "rank", "similarity", "verdict", "change", "sentence"];

/** CSV of a reply to `ask`. */
export function csv(reply) {
  const rows = reply.models.flatMap((model) => ["removed", "original"].flatMap((side) => model[side].map((said, rank) => row(reply, model, side, said, rank))));
  return [HEAD, ...rows].map((cells) => cells.map(cell).join(",")).join("\r\n");
}

function row(reply, model, side, said, rank) {
  const change = side === "original" ? (model.left.includes(rank) ? "left" : "stayed") : (said.move ?? 0);
  const about = side === "original" ? "original photo" : "filled photo";
  return [reply.photo, reply.removed.join("; "), reply.fill_title, model.title, about, rank + 1, said.similarity, said.verdict, change, said.text];
}

/** Quoted where needed; a text that a spreadsheet would run as a formula gets a quote in front. */
function cell(value) {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
