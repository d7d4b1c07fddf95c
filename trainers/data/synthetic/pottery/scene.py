"""One image of one pot: its place, the light, the background, what stands in the way, and the paint itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trainers.data.synthetic.engine.colour import Colour, linear
from trainers.data.synthetic.engine.exact_math import PI, Floats, clip01, cos_sin, ease, inside
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.background import (
    Background,
    foreground,
    hang_light,
    in_room,
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
    """The position of the pot.

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


class Covered(NamedTuple):
    """The part of an image that a pot covers: rows and columns of its bounding box, and in it float32 maps, see
    :class:`trainers.data.synthetic.pottery.silhouettes.Relief`.
    """

    rows: slice
    columns: slice
    cover: Floats
    arc: Floats
    angle: Floats
    nx: Floats
    ny: Floats
    mouth: Floats
    depth: Floats
    ring: Floats
    roundness: Floats


def render(
    pot: Pot,
    relief: Relief,
    size: int,
    rng: Rng,
    *,
    room: tuple[int, int] | None = None,
    empty: bool = False,
) -> NDArray[np.uint8]:
    """Draw ``pot`` once: uint8 [3, size, size].

    Args:
        room: seed and number of the room it stands in, see :func:`in_room`; None: one that no other image has.
        empty: without the pot and its shadow; everything else is as it would be with them.

    The image is computed in linear light at twice the size, with soft edges of one fine pixel, and shrunk by means
    of 2 x 2; the square root at the end is the display's gamma, which IEEE fixes to the bit where 1/2.2 would not be.
    """
    background = make_background(rng)
    if room is not None:
        background = in_room(background, *room)
    pose = make_pose(rng)
    n, x, y = _axes(size)
    c, s = cos_sin(pose.lean)
    level_x, level_y = pose.x + c * (x - pose.x) - s * (y - pose.y), pose.y + s * (x - pose.x) + c * (y - pose.y)
    foot = pose.y + 0.5 * pose.scale * relief.top
    glaze, ink = _fired(GLAZES[pot.glaze], rng), _fired(INKS[pot.ink], rng)
    girth = pose.scale * relief.girth
    image = paint_background(background, level_x, level_y, pose.x, foot, girth, shadow=not empty)
    if not empty:
        _place(image, pot, relief, pose, background, n, (glaze, ink))
    hang_light(image, background, x, y)
    foreground(image, background, x, y, rng)
    return _develop(image, background)


def visible_part(pot: Pot, relief: Relief, size: int, rng: Rng) -> Floats:
    """Return how much of each pixel the pot takes in the image that :func:`render` draws, what stands in front of it
    taken off: float32 [size, size], 0 to 1.
    """
    background = make_background(rng)
    pose = make_pose(rng)
    n, x, y = _axes(size)
    _fired(GLAZES[pot.glaze], rng), _fired(INKS[pot.ink], rng)  # drawn before the leaves
    matte = np.zeros((1, n, n), dtype=np.float32)
    seen = _covered(relief, pose, n)
    target = matte[:, seen.rows, seen.columns]
    for layer in (seen.ring, seen.cover, seen.mouth) if pot.silhouette.handles else (seen.cover, seen.mouth):
        target += layer * (1 - target)
    leaves = np.concatenate([matte] * 3)
    foreground(leaves, background, x, y, rng, brightness=0.0)
    rows = leaves[0, 0::2] + leaves[0, 1::2]
    part: Floats = np.float32(0.25) * (rows[:, 0::2] + rows[:, 1::2])
    return part


def _axes(size: int) -> tuple[int, Floats, Floats]:
    """Return fine pixels n to a side, and where their middles lie: x [1, n], y [n, 1]."""
    n = size * SUPERSAMPLING
    axis = (np.arange(n, dtype=np.float32) + np.float32(0.5)) / np.float32(n)
    return n, axis[None, :], axis[:, None]


def make_pose(rng: Rng) -> Pose:
    """Draw a pose within the image, the pot's middle near the image's."""
    return Pose(
        x=0.5 + rng.around(0.16),
        y=0.53 + rng.around(0.14),
        scale=rng.between(0.4, 0.8),
        lean=rng.around(0.055),
        mirrored=rng.happens(0.5),
        spin=rng.unit(),
    )


def _covered(relief: Relief, pose: Pose, n: int) -> Covered:
    """Place the maps of ``relief`` in an image of n fine pixels to a side."""
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
    return Covered(slice(top, bottom), slice(left, right), *np.ascontiguousarray(np.moveaxis(cells, -1, 0)))


def _place(
    image: Floats,
    pot: Pot,
    relief: Relief,
    pose: Pose,
    background: Background,
    n: int,
    paints: tuple[Floats, Floats],
) -> None:
    """Lay handle, body and mouth over ``image`` [3, n, n] in place, within their bounding box; ``paints`` are glaze and
    ink."""
    rows, columns, cover, arc, angle, nx, ny, mouth, depth, ring, roundness = _covered(relief, pose, n)
    glaze, ink = paints
    soft = float(1.3 / (n * pose.scale * _CELL))
    paint = _ornament(pot, relief, arc, angle + np.float32(pose.spin), soft)
    skin = glaze + paint * (ink - glaze)
    bare = clip01((np.float32(0.035) - arc) * np.float32(60))
    skin = skin + bare * (linear(_CLAY) - skin)
    lamp_x = (-1.0 if pose.mirrored else 1.0) * background.lamp[0]
    target = image[:, rows, columns]
    if pot.silhouette.handles:
        target += ring * (glaze * (0.62 - 0.34 * roundness * np.float32(lamp_x)) - target)
    shade, shine = _shading(nx, ny, lamp_x, background)
    target += cover * (skin * shade + shine - target)
    target += mouth * (glaze * (0.16 + 0.22 * ease(0.5 + 0.5 * depth)) - target)


def _ornament(pot: Pot, relief: Relief, arc: Floats, angle: Floats, soft: float) -> Floats:
    """Draw ink on the body: the motif within its span, framed by two thin lines.

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
    """Compute diffuse light and a soft highlight, from the normals and the lamp."""
    nz = np.sqrt(np.maximum(1 - nx * nx - ny * ny, 0))
    facing = np.maximum(lamp_x * nx + background.lamp[1] * ny + background.lamp[2] * nz, 0)
    shade = background.ambient * (0.75 + 0.25 * ny) + (1 - background.ambient) * facing * 1.25
    half = np.maximum(2 * facing * nz - np.float32(background.lamp[2]), 0)
    square = half * half
    fourth = square * square
    return shade.astype(np.float32), (background.gloss * fourth * fourth * fourth).astype(np.float32)


def _fired(colour: Colour, rng: Rng) -> Floats:
    """Vary a colour as one firing does: a little lighter or darker, a little off in hue; linear light, [3, 1, 1]."""
    drift = [[[rng.around(_HUE_DRIFT)]] for _ in range(3)]
    fired = np.sqrt(linear(colour)) * np.float32(1 + rng.around(_TONE_DRIFT)) + np.array(drift, dtype=np.float32)
    fired = clip01(fired)
    return fired * fired


def _develop(image: Floats, background: Background) -> NDArray[np.uint8]:
    """Shrink an image; apply light, exposure and gamma: uint8 [3, n / 2, n / 2] from linear light [3, n, n]."""
    rows = image[:, 0::2] + image[:, 1::2]
    small = rows[:, :, 0::2] + rows[:, :, 1::2]
    small = np.sqrt(clip01(small * (np.float32(0.25 * background.exposure) * background.tint)))
    return (small * np.float32(255) + np.float32(0.5)).astype(np.uint8)
