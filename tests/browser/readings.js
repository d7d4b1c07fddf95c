// What tests read of the Live view, as `window.debug`: run before the page's own scripts.

performance.setResourceTimingBufferSize(20_000);

Object.defineProperty(window, "debug", { get: () => window.rankscope && readings(window.rankscope.live) });

function readings(live) {
  const { maps, player } = live;
  return {
    state: () => ({
      run: live.run?.id ?? null,
      phase: live.phase ?? null,
      k: player.k,
      frames: player.frames.length,
      following: player.following ?? false,
      playing: player.busy,
      moving: maps.scene.moving(performance.now()),
      chosen: live.images.chosen,
      hovered: live.images.hovered,
      lassoed: live.images.lassoed.length,
      zoom: maps.scene.zoom,
      held: [...maps.scene.held],
      level: live.legend.level,
      renderer: maps.renderer.gl ? "webgl2" : "2d",
      neighbours: live.neighbours.shown,
    }),
    /** What was requested so far. */
    traffic: () => {
      const asked = (part) => performance.getEntriesByType("resource").filter(({ name }) => name.includes(part));
      const frames = asked("/frame/");
      return { polls: asked("/poll?").length, frames: frames.length, frameBytes: frames.reduce((sum, one) => sum + one.decodedBodySize, 0) };
    },
    /** Where point i is, in CSS pixels of the viewport. */
    place: (arm, i) => {
      const now = performance.now();
      const box = maps.cards[arm].plot.getBoundingClientRect();
      const [x, y] = maps.scene.toScreen(arm, maps.scene.at(arm, i, now), box.width, box.height, now);
      return [x + box.left, y + box.top];
    },
    /** Share of a map's pixels that are painted with an alpha above `least`. */
    painted: (arm, least = 8) => painted(maps, arm, least),
    /** Colour [r, g, b, a] under a viewport pixel, as drawn. */
    pixel: (x, y) => {
      const box = maps.canvas.getBoundingClientRect();
      const ratio = maps.canvas.width / box.width;
      const copy = maps.snapshot().getContext("2d");
      return [...copy.getImageData((x - box.left) * ratio, (y - box.top) * ratio, 1, 1).data];
    },
    lose: () => maps.renderer.gl?.getExtension("WEBGL_lose_context"),
  };
}

function painted(maps, arm, least) {
  const box = maps.canvas.getBoundingClientRect();
  const area = maps.cards[arm].plot.getBoundingClientRect();
  const ratio = maps.canvas.width / box.width;
  const [x, y, w, h] = [area.left - box.left, area.top - box.top, area.width, area.height].map((v) => Math.round(v * ratio));
  const { data } = maps.snapshot().getContext("2d").getImageData(x, y, w, h);
  let count = 0;
  for (let i = 3; i < data.length; i += 4) count += data[i] > least;
  return count / (w * h);
}
