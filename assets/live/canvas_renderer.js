// The same maps on a plain 2-D canvas, for machines without WebGL2. Same interface as webgl_renderer.js.

/** Opacity of dots, and size relative to the others of those outside the filter or the lasso. */
export const DOT = { opacity: 0.86, faint: { opacity: 0.28, size: 0.8 } };

export class CanvasMaps {
  static create(canvas) {
    const context = canvas.getContext("2d");
    return context ? new CanvasMaps(canvas, context) : null;
  }

  constructor(canvas, context) {
    this.canvas = canvas;
    this.context = context;
    this.onRestored = () => {};
    this.data = null;
  }

  points(before, after, rgba, sizes = null) {
    this.data = [before, after, rgba, sizes];
    this.group();
  }

  colours(rgba) {
    if (!this.data) return;
    this.data[2] = rgba;
    this.group();
  }

  /** Points of one colour share one path: far fewer state changes than one fill per point. */
  group() {
    const rgba = this.data[2];
    const groups = new Map();
    for (let i = 0; i < rgba.length / 4; i += 1) {
      const key = (rgba[i * 4] << 16) | (rgba[i * 4 + 1] << 8) | rgba[i * 4 + 2] | (rgba[i * 4 + 3] < 128 ? 1 << 24 : 0);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    }
    // faint groups first, so that the coloured ones lie on top
    this.groups = [...groups].sort((a, b) => (b[0] >> 24) - (a[0] >> 24));
  }

  draw(views, part, size, ratio) {
    const { context, canvas } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    views.forEach((view, i) => {
      context.save();
      context.setTransform(ratio, 0, 0, ratio, view.x * ratio, view.y * ratio);
      context.beginPath();
      context.rect(0, 0, view.w, view.h);
      context.clip();
      const place = (x, y) => [
        view.w / 2 + (x - view.centre[0]) * view.scale,
        view.h / 2 - (y - view.centre[1]) * view.scale,
      ];
      if (this.data?.[0][i]) this.drawDots(this.data[0][i], this.data[1][i], part, size, place);
      for (const mark of view.marks) drawMark(context, mark, place);
      context.restore();
    });
  }

  drawDots(before, after, part, size, place) {
    const { context } = this;
    for (const [key, members] of this.groups) {
      const faint = key >> 24 === 1;
      const plain = (faint ? size * DOT.faint.size : size) / 2;
      const sizes = this.data[3];
      context.globalAlpha = faint ? DOT.faint.opacity : DOT.opacity;
      context.fillStyle = `rgb(${(key >> 16) & 255} ${(key >> 8) & 255} ${key & 255})`;
      context.beginPath();
      for (const i of members) {
        const x = before[i * 2] + (after[i * 2] - before[i * 2]) * part;
        const y = before[i * 2 + 1] + (after[i * 2 + 1] - before[i * 2 + 1]) * part;
        const [px, py] = place(x, y);
        const radius = sizes ? plain * sizes[i] : plain;
        context.moveTo(px + radius, py);
        context.arc(px, py, radius, 0, 7);
      }
      context.fill();
    }
    context.globalAlpha = 1;
  }
}

function drawMark(context, mark, place) {
  const [x, y] = place(mark.x, mark.y);
  const half = mark.size / 2;
  const width = Math.min(mark.width, half);
  context.globalAlpha = mark.alpha;
  context.strokeStyle = `rgb(${mark.colour.join(" ")})`;
  context.lineWidth = width;
  context.beginPath();
  context.arc(x, y, half - width / 2, 0, 7);
  context.stroke();
  context.globalAlpha = 1;
}
