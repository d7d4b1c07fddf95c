// Drawings of the page within a picture to keep, with the look that they have on the page.

import { el } from "./dom.js";

export const SCALE = 2; // pixels of a picture for each of the page
const ROOM = 12; // around a drawing, for marks that reach over its edge
const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "visibility", "vector-effect", "font-family", "font-size", "font-weight", "text-anchor"];

/** Draw an SVG in a place of a canvas, in pixels of the page. */
export async function drawSvg(pen, svg, { left, top, width, height }) {
  const copy = svg.cloneNode(true);
  const parts = copy.querySelectorAll("*");
  svg.querySelectorAll("*").forEach((part, i) => {
    const style = getComputedStyle(part);
    for (const name of LOOK) parts[i].style.setProperty(name, style.getPropertyValue(name));
  });
  for (const [name, value] of Object.entries({ x: ROOM, y: ROOM, width, height })) copy.setAttribute(name, value * SCALE);
  copy.style.overflow = "visible";
  const [across, up] = [width + 2 * ROOM, height + 2 * ROOM];
  const image = new Image();
  const sheet = el("svg", { width: across * SCALE, height: up * SCALE }, copy);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(sheet))}`;
  await image.decode();
  pen.drawImage(image, left - ROOM, top - ROOM, across, up);
}
