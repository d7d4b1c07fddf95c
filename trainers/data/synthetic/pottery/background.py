"""The surroundings of a pot: wall, niche, table, shadow, window light and the leaves in front."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trainers.data.synthetic.engine.colour import Colour, unit
from trainers.data.synthetic.engine.exact_math import Floats, clip01, cos_sin, ease, inside
from trainers.data.synthetic.engine.rng import Rng

WALLS = (
    (226, 219, 205),
    (203, 209, 205),
    (178, 192, 198),
    (216, 196, 182),
    (190, 183, 196),
    (168, 180, 162),
    (122, 138, 150),
    (96, 108, 104),
    (140, 116, 106),
    (70, 76, 92),
    (230, 226, 222),
    (206, 178, 140),
)
TABLES = ((150, 112, 84), (196, 168, 138), (104, 82, 70), (210, 204, 196), (126, 132, 134), (86, 92, 96))
WALL_NAMES = (
    "ivory",
    "pale grey",
    "light blue",
    "sand",
    "lilac",
    "sage",
    "slate",
    "pine",
    "clay",
    "midnight",
    "white",
    "ochre",
)
LEAVES = ((74, 104, 78), (104, 128, 92), (58, 84, 84), (140, 140, 96))
BACKDROPS = ("plain", "niche", "disc", "panels", "stripes")


@dataclass(frozen=True, kw_only=True)
class Background:
    """Everything in an image that is not the pot. Lengths are shares of the image.

    Attributes:
        number: which of :data:`WALLS` the wall has, before its colour was varied.
        wall, second, table: colours in linear light, [3, 1, 1].
        backdrop: what the second colour paints on the wall; ``centre`` is its middle and ``extent`` its half width.
        behind: how far above the pot's foot the table ends.
        lamp: direction towards the light, a unit vector (right, up, towards the camera).
        ambient: share of light that comes from everywhere; ``gloss`` is the strength of a highlight.
        tint, exposure: colour [3, 1, 1] and strength of the light as the camera took it.
        window: depth of the shade between bars of window light, 0 without; ``slant``, ``pitch`` and ``offset`` are
            the bars' lean, distance and shift.
        leaves: number of sprigs in front.
    """

    number: int
    wall: Floats
    second: Floats
    table: Floats
    backdrop: str
    centre: float
    extent: float
    behind: float
    lamp: tuple[float, float, float]
    ambient: float
    gloss: float
    tint: Floats
    exposure: float
    window: float
    slant: float
    pitch: float
    offset: float
    leaves: int


def make_background(rng: Rng) -> Background:
    """Draw a background."""
    side = rng.between(0.25, 0.75) * (1.0 if rng.happens(0.5) else -1.0)
    up = rng.between(0.25, 0.6)
    warmth = rng.around(0.4)
    number = rng.below(len(WALLS))
    return Background(
        **_room(number, rng),
        behind=rng.between(0.03, 0.2),
        lamp=(side, up, float(np.sqrt(max(1 - side * side - up * up, 0.05)))),
        ambient=rng.between(0.3, 0.55),
        gloss=rng.between(0.05, 0.5),
        tint=np.array([1 + warmth, 1 + rng.around(0.12), 1 - warmth], dtype=np.float32).reshape(3, 1, 1),
        exposure=rng.between(0.6, 1.3),
        window=rng.between(0.35, 0.7) if rng.happens(0.4) else 0.0,
        slant=rng.around(0.9),
        pitch=rng.between(0.3, 0.55),
        offset=rng.unit(),
        leaves=rng.pick((0, 1, 1, 2, 2)),
    )


def in_room(background: Background, seed: int, number: int) -> Background:
    """Move a background to room ``number`` of a seed, whose wall, backdrop and table are always the same; light and
    leaves stay.

    There is a room for each of :data:`WALLS`.
    """
    rng = Rng(seed, "room", number)
    return replace(background, **_room(number, rng))


def paint_background(
    background: Background,
    x: Floats,
    y: Floats,
    foot_x: float,
    foot_y: float,
    girth: float,
    *,
    shadow: bool = True,
) -> Floats:
    """Paint wall, backdrop, table and the shadow of a pot that stands at (foot_x, foot_y): float32 [3, n, n].

    x and y, both [n, n], are level with the table, whatever the camera's lean.
    """
    edge = 2.0 / x.shape[1]
    accent = _backdrop(background, x, y, edge)
    glow = 1.06 - 0.3 * ((x - 0.5 - 0.5 * background.lamp[0]) ** 2 + (y - 0.2) ** 2)
    wall = background.wall + accent * (background.second - background.wall)
    image = wall * glow
    horizon = foot_y - background.behind
    front = inside(horizon - y, edge)
    top = background.table * (0.8 + 0.35 * (y - horizon))
    image += front * (top - image)
    if not shadow:
        return image.astype(np.float32, copy=False)
    dx = (x - foot_x + 0.5 * girth * background.lamp[0]) / max(1.5 * girth, 0.05)
    dy = (y - foot_y + 0.02) / max(0.45 * girth, 0.02)
    contact = 1 / (1 + (dx * dx + dy * dy) ** 2)
    image *= 1 - 0.55 * contact
    return image.astype(np.float32, copy=False)


def _backdrop(background: Background, x: Floats, y: Floats, edge: float) -> Floats:
    """Return how much of the second wall colour shows, [n, n]."""
    dx = x - background.centre
    if background.backdrop == "niche":
        top = 0.32
        arch = np.sqrt(dx * dx + np.minimum(y - top, 0) ** 2) - background.extent
        return inside(arch, edge)
    if background.backdrop == "disc":
        return inside(np.sqrt(dx * dx + (y - 0.38) ** 2) - background.extent, edge)
    if background.backdrop == "panels":
        return inside(dx, edge)
    if background.backdrop == "stripes":
        wave = dx / (0.4 * background.extent)
        return 0.5 * inside(np.abs(wave - np.floor(wave) - 0.5) - 0.25, 4 * edge)
    return np.zeros_like(dx)


def hang_light(image: Floats, background: Background, x: Floats, y: Floats) -> None:
    """Draw window light in place: slanted bars of shade, soft at the edges."""
    if background.window == 0.0:
        return
    t = (x + background.slant * y) / background.pitch + background.offset
    bar = ease((np.abs(t - np.floor(t) - 0.5) - 0.12) * 8)
    image *= 1 - background.window * bar


def foreground(image: Floats, background: Background, x: Floats, y: Floats, rng: Rng, brightness: float = 0.8) -> None:
    """Draw sprigs that reach into the image from its edge, a little out of focus, in place; black of brightness 0."""
    for _ in range(background.leaves):
        colour = _varied(rng.pick(LEAVES), rng) * np.float32(brightness)
        left = rng.happens(0.5)
        base_x, base_y = (-0.05 if left else 1.05), rng.between(0.1, 1.05)
        heading = rng.between(-0.14, 0.06)
        reach = rng.between(0.28, 0.55)
        size = rng.between(0.07, 0.12)
        for step in range(5):
            share = 0.2 + 0.2 * step
            bend = heading + 0.1 * share
            c, s = cos_sin(bend)
            direction = c if left else -c
            cx, cy = base_x + direction * reach * share, base_y + s * reach * share
            side = 0.13 if step % 2 else -0.13
            c, s = cos_sin(bend + (side if step < 4 else 0.0))
            _leaf(image, x, y, cx, cy, (c if left else -c), s, size * (1.25 - 0.4 * share), colour)


def _leaf(
    image: Floats, x: Floats, y: Floats, cx: float, cy: float, c: float, s: float, size: float, colour: Floats
) -> None:
    """Draw a lens shape from (cx, cy) along (c, s), its lower half a shade darker, in place."""
    n = x.size
    left, right = (min(n, max(0, int(n * (cx + size * c + side * 1.3 * size)))) for side in (-1, 1))
    top, bottom = (min(n, max(0, int(n * (cy + size * s + side * 1.3 * size)))) for side in (-1, 1))
    if right <= left or bottom <= top:
        return
    dx, dy = x[:, left:right] - cx - size * c, y[top:bottom] - cy - size * s
    along, across = (c * dx + s * dy) / size, (c * dy - s * dx) / size
    distance = np.abs(across) - 0.42 * (1 - along * along)
    cover = inside(distance.astype(np.float32), 0.16) * clip01(np.float32(1.2) - np.abs(along))
    lit = colour * (1 - 0.18 * ease(0.5 + 8 * across))
    patch = image[:, top:bottom, left:right]
    patch += cover * (lit.astype(np.float32) - patch)


def _varied(colour: Colour, rng: Rng) -> Floats:
    """Make a display colour randomly a little lighter or darker, in linear light (gamma 2)."""
    varied = clip01(unit(colour) * np.float32(1 + rng.around(0.12)) + np.float32(rng.around(0.03)))
    return varied * varied


def _room(number: int, rng: Rng) -> dict[str, Any]:
    """Draw wall, backdrop and table: fields of :class:`Background`."""
    return {
        "number": number,
        "wall": _varied(WALLS[number], rng),
        "second": _varied(rng.pick(WALLS), rng),
        "table": _varied(rng.pick(TABLES), rng),
        "backdrop": rng.pick(BACKDROPS),
        "centre": rng.between(0.25, 0.75),
        "extent": rng.between(0.22, 0.42),
    }
