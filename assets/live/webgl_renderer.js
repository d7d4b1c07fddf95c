// WebGL2 renderer: every map on one canvas, one scissored viewport each. Points morph in the vertex shader.

import { DOT } from "./canvas_renderer.js";

const POINTS = `#version 300 es
layout(location=0) in vec2 before;
layout(location=1) in vec2 after;
layout(location=2) in vec4 colour;
layout(location=3) in float swell;
uniform float part; uniform vec2 centre; uniform vec2 scale; uniform float size; uniform int faint;
out vec4 tint; out float radius;
void main() {
  bool quiet = colour.a < 0.5;
  vec2 at = (mix(before, after, part) - centre) * scale;
  gl_Position = vec4(at, 0.0, 1.0);
  if (quiet != (faint == 1)) gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
  float across = swell * (quiet ? size * ${DOT.faint.size} : size);
  gl_PointSize = across + 2.0;
  radius = across * 0.5 / gl_PointSize;
  tint = colour;
}`;

const ROUND = `#version 300 es
precision mediump float;
in vec4 tint; in float radius; out vec4 paint;
uniform float opacity;
void main() {
  float away = length(gl_PointCoord - 0.5);
  float soft = fwidth(away);
  float cover = (1.0 - smoothstep(radius - soft * 0.5, radius + soft, away)) * opacity;
  if (cover <= 0.004) discard;
  paint = vec4(tint.rgb * cover, cover);
}`;

const MARK = `#version 300 es
layout(location=0) in vec2 place;
layout(location=1) in vec2 shape;
layout(location=2) in vec4 colour;
uniform vec2 centre; uniform vec2 scale; uniform float ratio;
out vec4 tint; out float inner; out float outer;
void main() {
  gl_Position = vec4((place - centre) * scale, 0.0, 1.0);
  float across = shape.x * ratio;
  gl_PointSize = across + 2.0;
  outer = across * 0.5 / gl_PointSize;
  inner = outer - shape.y * ratio / gl_PointSize;
  tint = colour;
}`;

const RING = `#version 300 es
precision mediump float;
in vec4 tint; in float inner; in float outer; out vec4 paint;
void main() {
  float away = length(gl_PointCoord - 0.5);
  float soft = fwidth(away);
  float cover = 1.0 - smoothstep(outer - soft * 0.5, outer + soft, away);
  cover *= smoothstep(inner - soft, inner + soft * 0.5, away) * tint.a;
  if (cover <= 0.004) discard;
  paint = vec4(tint.rgb * cover, cover);
}`;

/**
 * Draws points and marks. Both renderers share this interface:
 *   points(before, after, colours, sizes)  Float32Array [P*2] per arm twice; Uint8Array [P*4] rgba, alpha 0 means faint;
 *                                   Float32Array [P], factors of a dot's size, or null: 1 for all
 *   colours(rgba)                   replace the colours
 *   draw(views, part, size, ratio)  views: [{x, y, w, h (CSS px from the canvas' top left), centre, scale, marks}]
 */
export class WebGlMaps {
  static create(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    return gl ? new WebGlMaps(canvas, gl) : null;
  }

  constructor(canvas, gl) {
    this.canvas = canvas;
    this.gl = gl;
    this.lost = false;
    this.onRestored = () => {};
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // without this the browser never gives the context back
      this.lost = true;
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.lost = false;
      this.build();
      if (this.data) this.points(...this.data);
      this.onRestored();
    });
    this.build();
  }

  build() {
    const { gl } = this;
    this.dots = program(gl, POINTS, ROUND);
    this.rings = program(gl, MARK, RING);
    this.tint = gl.createBuffer();
    this.swell = gl.createBuffer();
    this.markBuffer = gl.createBuffer();
    this.markArray = gl.createVertexArray();
    gl.bindVertexArray(this.markArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.markBuffer);
    attribute(gl, 0, 2, gl.FLOAT, 32, 0);
    attribute(gl, 1, 2, gl.FLOAT, 32, 8);
    attribute(gl, 2, 4, gl.FLOAT, 32, 16);
    this.arms = [];
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  points(before, after, rgba, sizes = null) {
    this.data = [before, after, rgba, sizes];
    if (this.lost) return;
    const { gl } = this;
    this.count = rgba.length / 4;
    while (this.arms.length < before.length) this.arms.push(this.arm());
    before.forEach((_, i) => {
      upload(gl, this.arms[i].before, before[i], gl.DYNAMIC_DRAW);
      upload(gl, this.arms[i].after, after[i], gl.DYNAMIC_DRAW);
    });
    upload(gl, this.tint, rgba, gl.STATIC_DRAW);
    upload(gl, this.swell, sizes ?? new Float32Array(this.count).fill(1), gl.STATIC_DRAW);
  }

  colours(rgba) {
    if (!this.data) return;
    this.data[2] = rgba;
    if (!this.lost) upload(this.gl, this.tint, rgba, this.gl.STATIC_DRAW);
  }

  arm() {
    const { gl } = this;
    const vertices = gl.createVertexArray();
    const [before, after] = [gl.createBuffer(), gl.createBuffer()];
    gl.bindVertexArray(vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, before);
    attribute(gl, 0, 2, gl.FLOAT, 8, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, after);
    attribute(gl, 1, 2, gl.FLOAT, 8, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.tint);
    gl.enableVertexAttribArray(2);
    gl.vertexAttribPointer(2, 4, gl.UNSIGNED_BYTE, true, 4, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.swell);
    attribute(gl, 3, 1, gl.FLOAT, 4, 0);
    return { vertices, before, after };
  }

  draw(views, part, size, ratio) {
    const { gl, canvas } = this;
    if (this.lost) return;
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    views.forEach((view, i) => {
      const [x, w, h] = [view.x * ratio, view.w * ratio, view.h * ratio].map(Math.round);
      const y = canvas.height - Math.round(view.y * ratio) - h;
      gl.viewport(x, y, w, h);
      gl.scissor(x, y, w, h);
      const scale = [(2 * view.scale) / view.w, (2 * view.scale) / view.h];
      if (this.data && this.arms[i] && i < this.data[0].length) this.drawDots(this.arms[i], view.centre, scale, part, size * ratio);
      if (view.marks.length) this.drawMarks(view.marks, view.centre, scale, ratio);
    });
  }

  drawDots(arm, centre, scale, part, size) {
    const { gl, dots } = this;
    gl.useProgram(dots.program);
    gl.bindVertexArray(arm.vertices);
    gl.uniform1f(dots.part, part);
    gl.uniform2fv(dots.centre, centre);
    gl.uniform2fv(dots.scale, scale);
    gl.uniform1f(dots.size, size);
    for (const faint of [1, 0]) {
      gl.uniform1i(dots.faint, faint);
      gl.uniform1f(dots.opacity, faint ? DOT.faint.opacity : DOT.opacity);
      gl.drawArrays(gl.POINTS, 0, this.count);
    }
  }

  drawMarks(marks, centre, scale, ratio) {
    const { gl, rings } = this;
    const flat = new Float32Array(marks.length * 8);
    marks.forEach((mark, i) => {
      const [r, g, b] = mark.colour;
      flat.set([mark.x, mark.y, mark.size, mark.width, r / 255, g / 255, b / 255, mark.alpha], i * 8);
    });
    gl.useProgram(rings.program);
    gl.bindVertexArray(this.markArray);
    upload(gl, this.markBuffer, flat, gl.STREAM_DRAW);
    gl.uniform2fv(rings.centre, centre);
    gl.uniform2fv(rings.scale, scale);
    gl.uniform1f(rings.ratio, ratio);
    gl.drawArrays(gl.POINTS, 0, marks.length);
  }
}

function program(gl, vertex, fragment) {
  const whole = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(whole, shader);
  }
  gl.linkProgram(whole);
  if (!gl.getProgramParameter(whole, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`The map's shaders do not link: ${gl.getProgramInfoLog(whole)}`);
  }
  const uniforms = { program: whole };
  const count = gl.getProgramParameter(whole, gl.ACTIVE_UNIFORMS);
  for (let i = 0; i < count; i += 1) {
    const { name } = gl.getActiveUniform(whole, i);
    uniforms[name] = gl.getUniformLocation(whole, name);
  }
  return uniforms;
}

function attribute(gl, place, size, type, stride, offset) {
  gl.enableVertexAttribArray(place);
  gl.vertexAttribPointer(place, size, type, false, stride, offset);
}

function upload(gl, buffer, data, usage) {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, data, usage);
}
