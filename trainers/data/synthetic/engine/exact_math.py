"""Elementary functions from +, -, *, / and sqrt alone.

IEEE 754 fixes those five to the last bit; sin, arcsin and exp differ by a unit in the last place between maths
libraries and vector units, which is enough to tip a pixel. The pottery uses only what is here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
"""float32; numpy's annotations say float64 of its operators with numbers of Python."""
PI = 3.141592653589793


def clip01(x: Floats) -> Floats:
    """Limit x to [0, 1], elementwise."""
    return np.minimum(np.maximum(x, np.float32(0)), np.float32(1))


def ease(x: Floats) -> Floats:
    """Return 0 below 0, 1 above 1, the cubic 3x^2 - 2x^3 between."""
    t = clip01(x)
    return t * t * (np.float32(3) - t - t)


def inside(distance: Floats, softness: float) -> Floats:
    """Return the coverage of a shape from a signed distance (negative inside): a ramp ``softness`` wide around 0."""
    return clip01(np.float32(0.5) - distance * np.float32(1.0 / softness))


def centred(x: Floats) -> Floats:
    """Return x modulo 1, in [-0.5, 0.5)."""
    return x - np.floor(x) - np.float32(0.5)


def turn(s: Floats, c: Floats) -> Floats:
    """Return the angle of the direction (c, s) in turns, in (-0.5, 0.5]; error under 1e-4.

    The arctangent of the smaller ratio by Abramowitz and Stegun's polynomial 4.4.49, then unfolded by octant.
    """
    a, b = np.abs(s), np.abs(c)
    small = np.minimum(a, b) / np.maximum(np.maximum(a, b), np.float32(1e-9))
    q = small * small
    angle = small * (0.9998660 + q * (-0.3302995 + q * (0.1801410 + q * (-0.0851330 + q * 0.0208351))))
    angle = angle * np.float32(0.5 / PI)
    angle = np.where(a > b, np.float32(0.25) - angle, angle)
    angle = np.where(c < 0, np.float32(0.5) - angle, angle)
    return np.where(s < 0, -angle, angle).astype(np.float32)


def cos_sin(turns: float) -> tuple[float, float]:
    """Return the cosine and sine of an angle in turns, by Taylor polynomials on an eighth of a circle."""
    quarters = round(turns * 4)
    x = (turns - quarters / 4) * 2 * PI
    q = x * x
    c = 1 - q / 2 * (1 - q / 12 * (1 - q / 30 * (1 - q / 56 * (1 - q / 90))))
    s = x * (1 - q / 6 * (1 - q / 20 * (1 - q / 42 * (1 - q / 72 * (1 - q / 110)))))
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarters % 4]
