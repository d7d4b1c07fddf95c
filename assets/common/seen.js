// What a hidden tab or section held is dropped, and drawn again when it is seen.

export const isHidden = (node) => node.offsetParent === null;

/** Call `part.drop()` when `node` is no longer displayed, and `part.draw()` when it is again. */
export function whileSeen(node, part) {
  let hidden = null;
  const look = () => {
    const before = hidden;
    hidden = isHidden(node);
    if (before === hidden) return;
    if (hidden) part.drop();
    else if (before) part.draw();
  };
  // what is not displayed has no size; what is drawn changes it again, so not within the call
  new ResizeObserver(() => requestAnimationFrame(look)).observe(node);
}
