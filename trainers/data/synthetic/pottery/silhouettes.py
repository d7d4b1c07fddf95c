"""The sixteen silhouettes of the pottery: outlines, handles, and the relief map a silhouette is painted from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.data.synthetic.engine.exact_math import Floats, clip01, turn

LEFT, RIGHT, BOTTOM, TOP = -0.80, 0.80, -0.22, 1.22
_STEPS = 14


@dataclass(frozen=True, kw_only=True)
class Silhouette:
    """A pot turned on the wheel.

    Attributes:
        name: singular, lower case.
        outline: (height, radius) pairs from foot to lip, joined by a smooth curve; a pot is about 1 high or 1 wide.
        handles: (x, height, half width, half height, half thickness) of each ring behind the body, x to its centre.
        spout: how far the lip is pulled out to the left, as a share of the radius.
        mouth: share of the lip's radius that is open; 0 closes the top.
        canvas: where along the outline, 0 at the foot and 1 at the lip, there is room for paint.
    """

    name: str
    outline: tuple[tuple[float, float], ...]
    handles: tuple[tuple[float, float, float, float, float], ...] = ()
    spout: float = 0.0
    mouth: float = 0.86
    canvas: tuple[float, float] = (0.06, 0.94)


@dataclass(frozen=True, kw_only=True)
class Relief:
    """The camera's view of a bare silhouette, on a grid of float32 cells [rows, columns, 9], top row first.

    Channels: body coverage, arc length from the foot, angle in turns, normal x, normal y, mouth coverage, height within
    the mouth (-1 front, 1 back), handle coverage, handle roundness (-1 outer rim, 1 inner rim). ``length`` is the
    outline's arc length, ``girth`` its mean radius; ``top`` and ``reach`` are the greatest height and the greatest
    distance from the axis of a covered cell; ``density`` is the number of cells to a unit.
    """

    cells: Floats
    length: float
    girth: float
    top: float
    reach: float
    density: int


# one silhouette in a few lines, so that sixteen can be compared
# fmt: off
SHELVES: tuple[tuple[str, tuple[Silhouette, ...]], ...] = (
    ("vases", (
        Silhouette(name="baluster vase",
                   outline=((0, 0.17), (0.25, 0.19), (0.55, 0.32), (0.75, 0.34), (0.88, 0.19), (0.95, 0.15), (1, 0.19)),
                   canvas=(0.06, 0.86)),
        Silhouette(name="trumpet vase", outline=((0, 0.22), (0.12, 0.2), (0.4, 0.15), (0.75, 0.22), (1, 0.38))),
        Silhouette(name="moon jar",
                   outline=((0, 0.2), (0.12, 0.34), (0.4, 0.47), (0.68, 0.37), (0.82, 0.2), (0.88, 0.2))),
        Silhouette(name="cylinder vase", outline=((0, 0.25), (0.05, 0.27), (0.5, 0.27), (0.93, 0.27), (1.0, 0.25))),
    )),
    ("jugs", (
        Silhouette(name="pitcher",
                   outline=((0, 0.24), (0.2, 0.32), (0.4, 0.33), (0.7, 0.2), (0.85, 0.2), (0.96, 0.25)),
                   handles=((0.27, 0.58, 0.19, 0.27, 0.04),), spout=0.42),
        Silhouette(name="ewer",
                   outline=((0, 0.2), (0.06, 0.15), (0.25, 0.27), (0.42, 0.26), (0.62, 0.11), (0.9, 0.1), (1, 0.15)),
                   handles=((0.16, 0.67, 0.22, 0.29, 0.034),), spout=0.75, canvas=(0.12, 0.8)),
        Silhouette(name="tankard", outline=((0, 0.33), (0.06, 0.34), (0.4, 0.32), (0.72, 0.31), (0.78, 0.32)),
                   handles=((0.36, 0.4, 0.2, 0.23, 0.048),), mouth=0.9),
        Silhouette(name="creamer",
                   outline=((0, 0.2), (0.1, 0.34), (0.25, 0.39), (0.42, 0.32), (0.52, 0.28), (0.62, 0.32)),
                   handles=((0.4, 0.36, 0.17, 0.19, 0.042),), spout=0.36),
    )),
    ("bowls", (
        Silhouette(name="tea bowl", outline=((0, 0.18), (0.07, 0.17), (0.16, 0.34), (0.36, 0.43), (0.56, 0.45)),
                   mouth=0.92, canvas=(0.18, 0.97)),
        Silhouette(name="wide dish", outline=((0, 0.22), (0.05, 0.21), (0.15, 0.37), (0.28, 0.5), (0.4, 0.57)),
                   mouth=0.92, canvas=(0.2, 0.97)),
        Silhouette(name="goblet",
                   outline=((0, 0.26), (0.05, 0.22), (0.16, 0.07), (0.3, 0.09), (0.42, 0.29), (0.6, 0.38), (0.82, 0.4)),
                   mouth=0.92, canvas=(0.44, 0.97)),
        Silhouette(name="planter",
                   outline=((0, 0.27), (0.2, 0.33), (0.5, 0.41), (0.59, 0.43), (0.6, 0.48), (0.7, 0.49)),
                   mouth=0.84, canvas=(0.04, 0.8)),
    )),
    ("bottles", (
        Silhouette(name="flask",
                   outline=((0, 0.2), (0.1, 0.33), (0.3, 0.4), (0.5, 0.3), (0.62, 0.1), (0.85, 0.075), (0.98, 0.11)),
                   mouth=0.7, canvas=(0.04, 0.72)),
        Silhouette(name="gourd bottle",
                   outline=((0, 0.18), (0.1, 0.3), (0.27, 0.35), (0.46, 0.2), (0.54, 0.16), (0.68, 0.22), (0.84, 0.14),
                            (1, 0.07)),
                   mouth=0.6),
        Silhouette(name="oil bottle",
                   outline=((0, 0.26), (0.05, 0.28), (0.45, 0.28), (0.62, 0.24), (0.7, 0.09), (0.92, 0.08), (1, 0.12)),
                   mouth=0.7, canvas=(0.03, 0.72)),
        Silhouette(name="teardrop bottle",
                   outline=((0, 0.16), (0.08, 0.28), (0.24, 0.34), (0.45, 0.24), (0.7, 0.11), (0.92, 0.06), (1, 0.075)),
                   mouth=0.6),
    )),
)
# fmt: on


def relief(silhouette: Silhouette, tilt: float, density: int) -> Relief:
    """Look at ``silhouette`` from above: ``tilt`` is the height of a horizontal circle over its width, 0.1 to 0.4, and
    ``density`` the number of cells to a unit.

    The pot is a stack of horizontal ellipses painted from the foot up, so that a higher one hides a lower one; between
    two neighbours of the stack the height is interpolated, which keeps painted bands smooth.
    """
    height, radius = _outline(silhouette)
    arc = np.concatenate(([0.0], np.cumsum(np.sqrt(np.diff(height) ** 2 + np.diff(radius) ** 2)))).astype(np.float32)
    x, y = _grid(density)
    pull = _pull(silhouette, height)
    owner, cover = _stack(x, y, height, radius, pull, tilt, density)
    share = _share(x, y, owner, height, radius, pull, tilt)
    after = np.minimum(owner + 1, len(height) - 1)

    def along(values: Floats) -> Floats:
        return values[owner] + share * (values[after] - values[owner])

    r, h = along(radius), along(height)
    stretch = np.where(x < 0, along(pull), np.float32(1))
    s = x / (r * stretch)
    c = np.where(cover > 0, (h - y) / (tilt * r), np.sqrt(np.maximum(1 - s * s, 0)))
    norm = np.maximum(np.sqrt(s * s + c * c), np.float32(1e-6))
    slope_r, slope_h = np.gradient(radius), np.gradient(height)
    steep = np.maximum(np.sqrt(slope_r * slope_r + slope_h * slope_h), 1e-9)
    out, up = along((slope_h / steep).astype(np.float32)), along((-slope_r / steep).astype(np.float32))
    nx = s / norm * out
    ny = up * (1 - tilt * tilt / 2) - c / norm * out * tilt
    mouth, depth = _mouth(silhouette, x, y, height[-1], radius[-1], pull[-1], tilt, density)
    ring, roundness = _handles(silhouette, x, y, density)
    channels = (cover, along(arc), turn(s, c), nx, ny, mouth, depth, ring, roundness)
    cells = np.stack([np.broadcast_to(channel, cover.shape) for channel in channels], axis=-1)
    girth = float(np.cumsum(radius[1:] * np.diff(arc))[-1] / arc[-1])
    rows, columns = np.nonzero(np.maximum(cover, ring))
    return Relief(
        cells=np.ascontiguousarray(cells, dtype=np.float32),
        length=float(arc[-1]),
        girth=girth,
        top=float(y[rows.min(), 0]),
        reach=float(np.abs(x[0, columns]).max()),
        density=density,
    )


def _grid(density: int) -> tuple[Floats, Floats]:
    """Return cell centres: x [1, columns] to the right, y [rows, 1] upwards, top row first."""
    columns, rows = round((RIGHT - LEFT) * density), round((TOP - BOTTOM) * density)
    x = LEFT + (np.arange(columns, dtype=np.float32) + np.float32(0.5)) / density
    y = TOP - (np.arange(rows, dtype=np.float32) + np.float32(0.5)) / density
    return x[None, :].astype(np.float32), y[:, None].astype(np.float32)


def _outline(silhouette: Silhouette) -> tuple[Floats, Floats]:
    """Return heights and radii of the stack: a Catmull-Rom curve through the outline's points."""
    points = np.array((silhouette.outline[0], *silhouette.outline, silhouette.outline[-1]), dtype=np.float32)
    t = (np.arange(_STEPS, dtype=np.float32) / _STEPS)[:, None]
    pieces = []
    for a, b, c, d in zip(points, points[1:], points[2:], points[3:], strict=False):
        pieces.append(0.5 * (2 * b + t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))))
    curve = np.concatenate((*pieces, points[-1:])).astype(np.float32)
    return np.maximum.accumulate(curve[:, 0]), curve[:, 1].copy()


def _pull(silhouette: Silhouette, height: Floats) -> Floats:
    """Stretch of the left half at every height: a spout grows over the last quarter."""
    t = clip01(np.float32(4) * (height / height[-1] - np.float32(0.75)))
    return (1 + silhouette.spout * t * t * t).astype(np.float32)


def _half(x: Floats, radius: Floats, pull: Floats) -> Floats:
    """Return the half depth of circles at x, their left halves stretched by ``pull``."""
    across = np.where(x < 0, x / pull, x)
    return np.sqrt(np.maximum(radius * radius - across * across, 0))


def _stack(
    x: Floats, y: Floats, height: Floats, radius: Floats, pull: Floats, tilt: float, density: int
) -> tuple[NDArray[np.intp], Floats]:
    """Return the topmost ellipse over every cell (index, nearest in height where there is none) and the coverage."""
    nearest = np.minimum(np.searchsorted(height, y[:, 0]), len(height) - 1)
    owner = np.broadcast_to(nearest[:, None], (y.size, x.size)).copy()
    cover = np.zeros(owner.shape, dtype=np.float32)
    half = [_half(x, r, p) for r, p in zip(radius, pull, strict=True)]
    for index in range(len(height)):
        above = min(index + 1, len(height) - 1)
        here, there = tilt * half[index], tilt * half[above]
        low = np.minimum(height[index] - here, height[above] - there)
        high = np.maximum(height[index] + here, height[above] + there)
        first = max(0, int((TOP - height[above] - tilt) * density))
        last = int((TOP - height[index] + tilt) * density) + 1
        hit = (y[first:last] >= low) & (y[first:last] <= high) & (np.maximum(here, there) > 0)
        owner[first:last][hit] = index
        cover[first:last][hit] = 1
    return owner, cover


def _share(
    x: Floats, y: Floats, owner: NDArray[np.intp], height: Floats, radius: Floats, pull: Floats, tilt: float
) -> Floats:
    """Return where between its ellipse and the next a cell lies, in [0, 1]."""
    after = np.minimum(owner + 1, len(height) - 1)
    here, there = (tilt * _half(x, radius[i], pull[i]) for i in (owner, after))
    forward = y < height[after] - there
    start = np.where(forward, height[owner] - here, height[owner] + here)
    end = np.where(forward, height[after] - there, height[after] + there)
    width = end - start
    safe = np.where(np.abs(width) < 1e-6, np.float32(1), width)
    return clip01(((y - start) / safe).astype(np.float32))


def _mouth(
    silhouette: Silhouette, x: Floats, y: Floats, height: float, radius: float, pull: float, tilt: float, density: int
) -> tuple[Floats, Floats]:
    """Return the coverage of the opening and the height within it, -1 at the front lip and 1 at the back."""
    rx = np.float32(max(radius * silhouette.mouth, 1e-3))
    across = np.where(x < 0, x / np.float32(pull), x) / rx
    up = (y - np.float32(height)) / np.float32(rx * tilt)
    distance = np.sqrt(across * across + up * up) - 1
    return clip01(np.float32(0.5) - distance * np.float32(rx * tilt * density / 2)), np.clip(up, -1, 1)


def _handles(silhouette: Silhouette, x: Floats, y: Floats, density: int) -> tuple[Floats, Floats]:
    """Return the coverage and roundness of the rings; they are drawn before the body, which hides their inner part."""
    cover = np.zeros((y.size, x.size), dtype=np.float32)
    roundness = np.zeros_like(cover)
    for cx, cy, rx, ry, thick in silhouette.handles:
        dx, dy = x - np.float32(cx), y - np.float32(cy)
        k = np.sqrt((dx / np.float32(rx)) ** 2 + (dy / np.float32(ry)) ** 2)
        steep = np.sqrt((dx / np.float32(rx * rx)) ** 2 + (dy / np.float32(ry * ry)) ** 2)
        distance = (k - 1) * k / np.maximum(steep, np.float32(1e-3))
        here = clip01(np.float32(0.5) - (np.abs(distance) - np.float32(thick)) * np.float32(density / 1.5))
        roundness = np.where(here > cover, np.clip(-distance / np.float32(thick), -1, 1), roundness)
        cover = np.maximum(cover, here)
    return cover, roundness.astype(np.float32)
