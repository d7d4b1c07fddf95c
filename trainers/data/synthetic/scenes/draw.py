"""The image of a layout: a background, the things in it, grain; at any size, with or without some of its classes."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from trainers.data.synthetic.scenes.backgrounds import draw_background
from trainers.data.synthetic.scenes.scene import COLOURS, Layout, Thing
from trainers.data.synthetic.scenes.shapes import draw_shape

_FINE = 256  # images below this side are drawn larger and shrunk, for soft edges
_GRAIN = 4.0  # standard deviation in grey levels up to 64 pixels; finer grain of larger images is weaker


def render(layout: Layout, size: int, removed: Collection[str] = ()) -> np.ndarray:
    """Draw a scene without the ``removed`` classes: uint8 ``[size, size, 3]``.

    What is left out changes nothing outside its box: every other pixel is the same to the bit.
    """
    factor = max(1, math.ceil(_FINE / size)) if size < _FINE else 2
    side = size * factor
    image = Image.new("RGB", (side, side))
    draw_background(ImageDraw.Draw(image), layout, side)
    for thing in layout.things:
        if thing.name not in removed:
            _put(image, thing, pixel_box(thing.box, size), factor)
    pixels = np.asarray(image.reduce(factor), dtype=np.float32)
    return np.rint(np.clip(pixels + _grain(layout, size), 0, 255)).astype(np.uint8)


def _put(image: Image.Image, thing: Thing, box: tuple[int, int, int, int], factor: int) -> None:
    """Draw one thing on its own cut-out, so that not a pixel outside its box changes."""
    left, top, right, bottom = (value * factor for value in box)
    window = (left, top, right, bottom)
    part = image.crop(window)
    draw_shape(
        ImageDraw.Draw(part),
        thing.name,
        COLOURS[thing.colour],
        (0, 0, *part.size),
        mirrored=thing.mirrored,
        variant=thing.variant,
    )
    image.paste(part, window)


def pixel_box(box: tuple[float, float, float, float], size: int) -> tuple[int, int, int, int]:
    """Return the whole pixels of an image of side ``size`` that a thing may touch; it is drawn to fill them."""
    x0, y0, x1, y1 = (value * size for value in box)
    return math.floor(x0), math.floor(y0), math.ceil(x1), math.ceil(y1)


def _grain(layout: Layout, size: int) -> np.ndarray:
    """Cut noise float32 ``[size, size, 1]`` out of one large sheet, at a place of the scene's own."""
    y, x = np.random.default_rng([layout.seed, layout.number, 3]).integers(0, size, 2)
    return _sheet(layout.seed, size)[y : y + size, x : x + size]


@lru_cache(maxsize=4)
def _sheet(seed: int, size: int) -> np.ndarray:
    strength = _GRAIN * min(1.0, (64 / size) ** 0.5)
    return np.random.default_rng([seed, size, 4]).normal(0, strength, (2 * size, 2 * size, 1)).astype(np.float32)
