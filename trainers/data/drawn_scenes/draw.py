"""The picture of a layout: a home, the things in it, grain; at any size, with or without some of its classes."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from trainers.data.drawn_scenes.pen import Colour, Pen, shade
from trainers.data.drawn_scenes.shapes import SHAPES
from trainers.data.drawn_scenes.world import COLOURS, HOMES, Layout, Thing

_FINE = 256  # pictures below this side are drawn larger and shrunk, for soft edges
_GRAIN = 5.0  # standard deviation in grey levels
_GROUND: dict[str, tuple[Colour, Colour]] = {
    "grass": ((172, 212, 238), (112, 170, 88)),
    "street": ((214, 206, 200), (158, 156, 160)),
    "water": ((186, 218, 240), (72, 138, 184)),
    "road": ((198, 218, 230), (112, 114, 122)),
    "room": ((236, 222, 200), (178, 132, 94)),
}


def render(layout: Layout, size: int, removed: Collection[str] = ()) -> np.ndarray:
    """Draw a scene without the ``removed`` classes: uint8 ``[size, size, 3]``.

    What is left out changes nothing outside its box: every other pixel is the same to the bit.
    """
    factor = max(1, math.ceil(_FINE / size)) if size < _FINE else 2
    side = size * factor
    picture = Image.new("RGB", (side, side))
    draw = ImageDraw.Draw(picture)
    _home(draw, layout, side)
    for thing in layout.things:
        if thing.name not in removed:
            box = pixel_box(thing.box, size)
            _put(picture, thing, tuple(value * factor for value in box))
    pixels = np.asarray(picture.reduce(factor), dtype=np.float32)
    return np.clip(pixels + _grain(layout.seed, layout.number % 64, size), 0, 255).astype(np.uint8)


def _put(picture: Image.Image, thing: Thing, box: tuple[int, int, int, int]) -> None:
    """Draw one thing on its own cut-out, so that not a pixel outside its box changes."""
    part = picture.crop(box)
    pen = Pen(ImageDraw.Draw(part), (0, 0, *part.size), thing.mirrored)
    SHAPES[thing.name](pen, COLOURS[thing.colour])
    picture.paste(part, box)


def pixel_box(box: tuple[float, float, float, float], size: int) -> tuple[int, int, int, int]:
    """The whole pixels of a picture of side ``size`` that a thing may touch."""
    x0, y0, x1, y1 = (value * size for value in box)
    return math.floor(x0), math.floor(y0), math.ceil(x1), math.ceil(y1)


def _home(draw: ImageDraw.ImageDraw, layout: Layout, side: int) -> None:
    far, near = (shade(colour, 1 + 0.06 * layout.tint) for colour in _GROUND[layout.home])
    horizon = round(layout.horizon * side)
    for row in range(0, horizon, 4):  # a slow gradient: lighter towards the horizon
        draw.rectangle((0, row, side, row + 4), fill=shade(far, 1 + 0.25 * row / side))
    for row in range(horizon, side, 4):
        draw.rectangle((0, row, side, row + 4), fill=shade(near, 1.12 - 0.3 * (row - horizon) / side))
    _DETAILS[layout.home](draw, layout, side, horizon, near)


def _grass(draw: ImageDraw.ImageDraw, layout: Layout, side: int, horizon: int, near: Colour) -> None:
    rng = _chance(layout)
    for _ in range(3):
        x, width = rng.uniform(-0.2, 0.9) * side, rng.uniform(0.4, 0.8) * side
        hill = (x, horizon - 0.09 * side, x + width, horizon + 0.09 * side)
        draw.pieslice(hill, 180, 360, fill=shade(near, 0.9))
    for _ in range(26):
        x, y = rng.uniform(0, 1) * side, rng.uniform(layout.horizon + 0.06, 1) * side
        draw.line((x, y, x + 0.012 * side, y - 0.03 * side), fill=shade(near, 0.82), width=max(1, side // 128))


def _street(draw: ImageDraw.ImageDraw, layout: Layout, side: int, horizon: int, near: Colour) -> None:
    rng, x = _chance(layout), 0.0
    while x < side:
        width, height = rng.uniform(0.16, 0.28) * side, rng.uniform(0.22, 0.38) * side
        wall = shade((188, 150, 128), rng.uniform(0.85, 1.35))
        draw.rectangle((x, horizon - height, x + width, horizon), fill=wall)
        for column in range(2):
            for row in range(int(height / (0.1 * side))):
                left, top = x + (0.2 + 0.4 * column) * width, horizon - height + (0.04 + 0.1 * row) * side
                draw.rectangle((left, top, left + 0.2 * width, top + 0.055 * side), fill=shade(wall, 0.72))
        x += width
    for row in range(3):
        y = horizon + (0.1 + 0.17 * row) * side
        draw.line((0, y, side, y), fill=shade(near, 0.9), width=max(1, side // 128))


def _water(draw: ImageDraw.ImageDraw, layout: Layout, side: int, horizon: int, near: Colour) -> None:
    rng = _chance(layout)
    for _ in range(2):
        x, y, width = rng.uniform(0, 0.8) * side, rng.uniform(0.05, 0.25) * side, rng.uniform(0.16, 0.3) * side
        draw.ellipse((x, y, x + width, y + 0.28 * width), fill=(246, 249, 252))
    for _ in range(18):
        x, y = rng.uniform(0, 1) * side, rng.uniform(layout.horizon + 0.03, 1) * side
        draw.line((x, y, x + rng.uniform(0.05, 0.14) * side, y), fill=shade(near, 1.25), width=max(1, side // 100))


def _road(draw: ImageDraw.ImageDraw, layout: Layout, side: int, horizon: int, near: Colour) -> None:
    rng = _chance(layout)
    for _ in range(5):
        x, width = rng.uniform(-0.1, 0.95) * side, rng.uniform(0.1, 0.2) * side
        draw.ellipse((x, horizon - 0.8 * width, x + width, horizon + 0.2 * width), fill=(96, 138, 92))
    draw.rectangle((0, horizon, side, horizon + 0.05 * side), fill=(148, 158, 120))
    y = (layout.horizon + 1.0) / 2 * side
    for step in range(5):
        x = (0.02 + 0.21 * step) * side
        draw.rectangle((x, y, x + 0.12 * side, y + 0.018 * side), fill=(236, 232, 214))


def _room(draw: ImageDraw.ImageDraw, layout: Layout, side: int, horizon: int, near: Colour) -> None:
    rng = _chance(layout)
    x = rng.uniform(0.08, 0.6) * side
    draw.rectangle((x, 0.07 * side, x + 0.28 * side, 0.30 * side), fill=(250, 246, 238))
    draw.rectangle((x + 0.02 * side, 0.09 * side, x + 0.26 * side, 0.28 * side), fill=(160, 204, 232))
    draw.rectangle((x + 0.13 * side, 0.09 * side, x + 0.15 * side, 0.28 * side), fill=(250, 246, 238))
    draw.rectangle((0, horizon - 0.02 * side, side, horizon), fill=(250, 244, 232))
    for row in range(4):
        y = horizon + (0.05 + 0.15 * row) * side
        draw.line((0, y, side, y), fill=shade(near, 0.86), width=max(1, side // 128))


_DETAILS = {"grass": _grass, "street": _street, "water": _water, "road": _road, "room": _room}
assert set(_DETAILS) == set(HOMES)


def _chance(layout: Layout) -> np.random.Generator:
    return np.random.default_rng([layout.seed, layout.number, 2])


@lru_cache(maxsize=256)
def _grain(seed: int, sheet: int, size: int) -> np.ndarray:
    """Noise float32 ``[size, size, 1]``; scenes share a few sheets of it."""
    return np.random.default_rng([seed, sheet, size, 3]).normal(0, _GRAIN, (size, size, 1)).astype(np.float32)
