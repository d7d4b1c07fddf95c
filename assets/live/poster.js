// The maps as one image to download, with titles, step and the caveat.

import { el, grouped } from "../common/dom.js";
import { brief } from "../common/names.js";

const HEAD = 44;
const FOOT = 34;

/** A canvas with every map under its title. */
export function picturePage(maps, run, step, dark) {
  const drawn = maps.snapshot();
  const box = maps.node.getBoundingClientRect();
  const ratio = drawn.width / box.width;
  const page = el("canvas", { width: drawn.width, height: drawn.height + (HEAD + FOOT) * ratio });
  const pen = page.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = dark ? "#101218" : "#ffffff";
  pen.fillRect(0, 0, box.width, box.height + HEAD + FOOT);
  const [strong, soft] = dark ? ["#eceef4", "#a3a9b8"] : ["#14161d", "#565c6b"];
  write(pen, `${brief(run.title, 90)}${Number.isFinite(step) ? ` · step ${grouped(step)}` : ""}`, 16, 28, strong, 600, 16);
  maps.cards.forEach((card) => {
    const area = card.plot.getBoundingClientRect();
    const [x, y] = [area.left - box.left, area.top - box.top + HEAD];
    pen.fillStyle = getComputedStyle(card.node.querySelector(".rs-swatch")).color;
    pen.fillRect(x + 12, y - 22, 10, 10);
    write(pen, card.title.textContent, x + 30, y - 13, strong, 600, 14);
  });
  pen.drawImage(drawn, 0, HEAD, box.width, box.height);
  write(pen, `${brief(run.summary, 120)} · a 2-D map keeps only some of the nearest neighbours`, 16, box.height + HEAD + 20, soft, 400, 12);
  return page;
}

function write(pen, text, x, y, colour, weight, size) {
  pen.fillStyle = colour;
  pen.font = `${weight} ${size}px system-ui, sans-serif`;
  pen.fillText(text, x, y);
}
