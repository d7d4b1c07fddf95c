"""Display colours, their shades, and the same in linear light."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trainers.data.synthetic.engine.exact_math import Floats

Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""


@lru_cache(maxsize=4096)
def shade(colour: Colour, factor: float) -> Colour:
    """Make a colour darker below 1, nearer to white above; 2 is white."""
    if factor <= 1:
        return round(colour[0] * factor), round(colour[1] * factor), round(colour[2] * factor)
    red, green, blue = (round(255 - (255 - value) * (2 - factor)) for value in colour)
    return red, green, blue


def unit(colour: Colour) -> Floats:
    """Scale a colour to 0 to 1, [3, 1, 1]."""
    return np.array(colour, dtype=np.float32).reshape(3, 1, 1) / np.float32(255)


def linear(colour: Colour) -> Floats:
    """Convert a colour to linear light (gamma 2), [3, 1, 1]."""
    return unit(colour) * unit(colour)
