// Where a frame has its points, and which of them stay where they were shown.

/** A coordinate as it was before it was packed into 16 bits. */
const unpacked = (u, limit) => ((u / 65535) * 2 - 1) * limit;

/** The places of a frame: one Float32Array [x, y, x, y, ...] per arm. */
export function placesOf({ coords, limit }) {
  return coords.map((packed) => Float32Array.from(packed, (u) => unpacked(u, limit)));
}

/**
 * The places of a frame that follows the one shown. A point that is nearer to where it was shown than the noise floor of the
 * layout stays there: it moved no further than points of a frozen embedding do. What is compared is the place last shown, so
 * small moves that add up are shown once they exceed the floor together.
 */
export function settled(shown, frame) {
  return placesOf(frame).map((places, arm) => {
    const { floor } = frame.arms[arm];
    const before = shown?.[arm];
    if (!(floor > 0) || before?.length !== places.length) return places;
    const reach = (floor * spread(places)) ** 2;
    for (let i = 0; i < places.length; i += 2) {
      const [dx, dy] = [places[i] - before[i], places[i + 1] - before[i + 1]];
      if (dx * dx + dy * dy <= reach) places.set([before[i], before[i + 1]], i);
    }
    return places;
  });
}

/** Standard deviation over both axes, the unit of the floor. */
function spread(places) {
  const count = places.length / 2;
  const variance = [0, 1].map((axis) => {
    let [sum, squares] = [0, 0];
    for (let i = axis; i < places.length; i += 2) {
      sum += places[i];
      squares += places[i] * places[i];
    }
    return squares / count - (sum / count) ** 2;
  });
  return Math.sqrt(Math.max(0, (variance[0] + variance[1]) / 2));
}
