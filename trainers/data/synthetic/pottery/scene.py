"""One image of one pot: its place, the light, the background, what stands in the way, and the paint itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.data.synthetic.engine.colour import Colour, linear
from trainers.data.synthetic.engine.exact_math import PI, Floats, clip01, cos_sin, ease, inside
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.background import (
    Background,
    foreground,
    hang_light,
    make_background,
    paint_background,
)
from trainers.data.synthetic.pottery.classes import GLAZES, INKS, Pot
from trainers.data.synthetic.pottery.motifs import MOTIFS, band
from trainers.data.synthetic.pottery.silhouettes import LEFT, TOP, Relief

SUPERSAMPLING = 2
_CELL = 0.165
_CLAY = (196, 150, 118)
_TONE_DRIFT, _HUE_DRIFT = 0.24, 0.13


@dataclass(frozen=True, kw_only=True)
class Pose:
    """Where the pot stands.

    Attributes:
        x, y: its middle in the image, 0 to 1, y down.
        scale: length of one unit in the image.
        lean: of the camera, in turns.
        mirrored: whether a handle is at the left.
        spin: how far the pot is turned about its axis, in turns.
    """

    x: float
    y: float
    scale: float
    lean: float
    mirrored: bool
    spin: float


def render(pot: Pot, relief: Relief, size: int, rng: Rng) -> NDArray[np.uint8]:
    """Draw ``pot`` once: uint8 [3, size, size].

    The image is computed in linear light at twice the size, with soft edges of one fine pixel, and shrunk by means
    of 2 x 2; the square root at the end is the display's gamma, which IEEE fixes to the bit where 1/2.2 would not be.
    """
    background = make_background(rng)
    pose = make_pose(relief, rng)
    n = size * SUPERSAMPLING
    axis = (np.arange(n, dtype=np.float32) + np.float32(0.5)) / np.float32(n)
    x, y = axis[None, :], axis[:, None]
    c, s = cos_sin(pose.lean)
    level_x, level_y = pose.x + c * (x - pose.x) - s * (y - pose.y), pose.y + s * (x - pose.x) + c * (y - pose.y)
    foot = pose.y + 0.5 * pose.scale * relief.top
    image = paint_background(background, level_x, level_y, pose.x, foot, pose.scale * relief.girth)
    _place(image, pot, relief, pose, background, n, rng)
    hang_light(image, background, x, y)
    foreground(image, background, x, y, rng)
    return _develop(image, background)


def make_pose(relief: Relief, rng: Rng) -> Pose:
    """A pose within the image, the pot's middle near the image's."""
    return Pose(
        x=0.5 + rng.around(0.16),
        y=0.53 + rng.around(0.14),
        scale=rng.between(0.4, 0.8),
        lean=rng.around(0.055),
        mirrored=rng.happens(0.5),
        spin=rng.unit(),
    )


def _place(image: Floats, pot: Pot, relief: Relief, pose: Pose, background: Background, n: int, rng: Rng) -> None:
    """Lay handle, body and mouth over ``image`` [3, n, n] in place, within their bounding box."""
    c, s = cos_sin(pose.lean)
    half_x, half_y = relief.reach + 0.02, 0.5 * relief.top + 0.14
    wide, high = pose.scale * (c * half_x + abs(s) * half_y), pose.scale * (c * half_y + abs(s) * half_x)
    left, right = (min(n, max(0, int(n * (pose.x + side * wide)) + 1)) for side in (-1, 1))
    top, bottom = (min(n, max(0, int(n * (pose.y + side * high)) + 1)) for side in (-1, 1))
    x = ((np.arange(left, right, dtype=np.float32) + 0.5) / n - pose.x)[None, :] / pose.scale
    y = (pose.y - (np.arange(top, bottom, dtype=np.float32) + 0.5) / n)[:, None] / pose.scale
    flip = -1.0 if pose.mirrored else 1.0
    px, py = flip * (c * x + s * y), c * y - s * x + 0.5 * relief.top
    rows, columns = relief.cells.shape[:2]
    column = np.clip(((px - LEFT) * relief.density).astype(np.int32), 0, columns - 1)
    row = np.clip(((TOP - py) * relief.density).astype(np.int32), 0, rows - 1)
    cells = np.take(relief.cells.reshape(rows * columns, -1), row * columns + column, axis=0)
    cover, arc, angle, nx, ny, mouth, depth, ring, roundness = np.ascontiguousarray(np.moveaxis(cells, -1, 0))

    glaze, ink = _fired(GLAZES[pot.glaze], rng), _fired(INKS[pot.ink], rng)
    soft = float(1.3 / (n * pose.scale * _CELL))
    paint = _ornament(pot, relief, arc, angle + np.float32(pose.spin), soft)
    skin = glaze + paint * (ink - glaze)
    bare = clip01((np.float32(0.035) - arc) * np.float32(60))
    skin = skin + bare * (linear(_CLAY) - skin)
    lamp_x = flip * background.lamp[0]
    target = image[:, top:bottom, left:right]
    if pot.silhouette.handles:
        target += ring * (glaze * (0.62 - 0.34 * roundness * np.float32(lamp_x)) - target)
    shade, shine = _shading(nx, ny, lamp_x, background)
    target += cover * (skin * shade + shine - target)
    target += mouth * (glaze * (0.16 + 0.22 * ease(0.5 + 0.5 * depth)) - target)


def _ornament(pot: Pot, relief: Relief, arc: Floats, angle: Floats, soft: float) -> Floats:
    """Ink on the body: the motif within its span, framed by two thin lines.

    A whole number of cells goes round the pot and up the span, so that the pattern closes and fits.
    """
    start, end = pot.silhouette.canvas
    low, high = (relief.length * (start + (end - start) * share) for share in pot.span)
    around = max(6, round(2 * PI * relief.girth / _CELL))
    rows = max(1, round((high - low) / _CELL))
    v = (arc - np.float32(low)) * np.float32(rows / (high - low))
    ink = MOTIFS[pot.motif](angle * np.float32(around), v, soft) * band(v, 0.0, float(rows), soft)
    for line in (-0.22, rows + 0.22):
        ink = np.maximum(ink, inside(np.abs(v - np.float32(line)) - np.float32(0.09), soft))
    return ink


def _shading(nx: Floats, ny: Floats, lamp_x: float, background: Background) -> tuple[Floats, Floats]:
    """Diffuse light and a soft highlight, from the normals and the lamp."""
    nz = np.sqrt(np.maximum(1 - nx * nx - ny * ny, 0))
    facing = np.maximum(lamp_x * nx + background.lamp[1] * ny + background.lamp[2] * nz, 0)
    shade = background.ambient * (0.75 + 0.25 * ny) + (1 - background.ambient) * facing * 1.25
    half = np.maximum(2 * facing * nz - np.float32(background.lamp[2]), 0)
    square = half * half
    fourth = square * square
    return shade.astype(np.float32), (background.gloss * fourth * fourth * fourth).astype(np.float32)


def _fired(colour: Colour, rng: Rng) -> Floats:
    """A colour as one firing gave it: a little lighter or darker, a little off in hue; linear light, [3, 1, 1]."""
    drift = [[[rng.around(_HUE_DRIFT)]] for _ in range(3)]
    fired = np.sqrt(linear(colour)) * np.float32(1 + rng.around(_TONE_DRIFT)) + np.array(drift, dtype=np.float32)
    fired = clip01(fired)
    return fired * fired


def _develop(image: Floats, background: Background) -> NDArray[np.uint8]:
    """Shrinking, colour of the light, exposure and gamma: uint8 [3, n / 2, n / 2] from linear light [3, n, n]."""
    rows = image[:, 0::2] + image[:, 1::2]
    small = rows[:, :, 0::2] + rows[:, :, 1::2]
    small = np.sqrt(clip01(small * (np.float32(0.25 * background.exposure) * background.tint)))
    return (small * np.float32(255) + np.float32(0.5)).astype(np.uint8)
