"""Painted ornament: each motif is ink on an endless grid of unit cells, u around the pot and v up its side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trainers.data.synthetic.engine.exact_math import Floats, centred, clip01, inside

Motif = Callable[[Floats, Floats, float], Floats]
"""(u, v, softness) -> ink in [0, 1]; softness is the width of an edge in cells."""


def _staggered(u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return the position within a cell, every other row shifted by half."""
    odd = np.floor(v) - 2 * np.floor(0.5 * v)
    return centred(u + 0.5 * odd), centred(v)


def _distance(x: Floats, y: Floats) -> Floats:
    return np.sqrt(x * x + y * y)


def _checks(u: Floats, v: Floats, w: float) -> Floats:
    a, b = inside(np.abs(centred(u)) - 0.25, w), inside(np.abs(centred(v)) - 0.25, w)
    return a * b + (1 - a) * (1 - b)


def _waves(u: Floats, v: Floats, w: float) -> Floats:
    t = 2 * np.abs(centred(0.5 * u))
    return inside(np.abs(centred(v + 0.9 * t * t * (3 - 2 * t))) - 0.2, 1.6 * w)


def _diamonds(u: Floats, v: Floats, w: float) -> Floats:
    x, y = _staggered(u, v)
    return inside(np.abs(x) + np.abs(y) - 0.42, 1.4 * w)


def _lattice(u: Floats, v: Floats, w: float) -> Floats:
    a, b = np.abs(centred(0.5 * (u + v))), np.abs(centred(0.5 * (u - v)))
    return inside(np.minimum(a, b) - 0.11, 0.8 * w)


def _scales(u: Floats, v: Floats, w: float) -> Floats:
    x, y = _staggered(u, v)
    return inside(np.abs(_distance(x, y + 0.5) - 0.52) - 0.11, w)


def _petals(u: Floats, v: Floats, w: float) -> Floats:
    y = centred(0.55 * v) * 2
    return inside(np.abs(centred(u)) - 0.4 * (1 - y * y), 1.2 * w)


def _crosses(u: Floats, v: Floats, w: float) -> Floats:
    x, y = np.abs(centred(u)), np.abs(centred(v))
    return inside(np.maximum(np.minimum(x, y) - 0.13, np.maximum(x, y) - 0.4), w)


def _bricks(u: Floats, v: Floats, w: float) -> Floats:
    x, y = _staggered(0.62 * u, v)
    return inside(np.minimum(0.5 - np.abs(y) - 0.12, (0.5 - np.abs(x)) / 0.62 - 0.12), w)


MOTIFS: dict[str, Motif] = {
    "stripes": lambda u, v, w: inside(np.abs(centred(u)) - 0.24, w),
    "hoops": lambda u, v, w: inside(np.abs(centred(v)) - 0.24, w),
    "checks": _checks,
    "chevrons": lambda u, v, w: inside(np.abs(centred(v + 1.3 * np.abs(centred(u)))) - 0.22, 1.6 * w),
    "waves": _waves,
    "dots": lambda u, v, w: inside(_distance(*_staggered(u, v)) - 0.31, w),
    "rings": lambda u, v, w: inside(np.abs(_distance(centred(u), centred(v)) - 0.31) - 0.11, w),
    "diamonds": _diamonds,
    "lattice": _lattice,
    "scales": _scales,
    "petals": _petals,
    "crosses": _crosses,
    "triangles": lambda u, v, w: inside(np.abs(centred(u)) - 0.5 * (0.42 - centred(v)), 1.2 * w),
    "bricks": _bricks,
}


def band(v: Floats, low: float, high: float, softness: float) -> Floats:
    """Return 1 between two heights, with soft edges."""
    return clip01((v - low) / softness + 0.5) * clip01((high - v) / softness + 0.5)
