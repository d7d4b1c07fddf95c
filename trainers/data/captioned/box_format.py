"""The four numbers that a dataset writes for a box, found by looking at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trainers.data.captioned_images import Box

BoxFormat = Literal["xywh", "xyxy"]
_SLACK = 1.5  # pixels a box may stick out by rounding


@dataclass(frozen=True, kw_only=True)
class BoxReading:
    """The format of boxes. ``unit``: values are shares of the image, 0 to 1, instead of pixels."""

    format: BoxFormat
    unit: bool
    note: str


def decide(boxes: np.ndarray, sizes: np.ndarray, areas: np.ndarray | None = None) -> BoxReading:
    """Choose the reading under which fewer boxes are impossible; when both fit equally, COCO's x, y, width, height.

    Args:
        boxes: float64 ``[N, 4]``.
        sizes: float64 ``[N, 2]``, width and height of each box's image; 0 where unknown.
        areas: float64 ``[N]``, areas of the objects, which no box is smaller than; None or NaN where unknown.
    """
    fine = np.isfinite(boxes).all(axis=1)
    boxes, sizes = boxes[fine], np.where(sizes[fine] > 0, sizes[fine], np.inf)
    areas = None if areas is None else areas[fine]
    unit = bool(len(boxes)) and float(boxes.max()) <= 1.01 and float(np.median(sizes)) > 2
    if unit:
        sizes = np.ones_like(sizes)
    slack = 0.01 if unit else _SLACK
    a, b, c, d = boxes.T if len(boxes) else np.zeros((4, 0))
    beyond = (a + c > sizes[:, 0] + slack) | (b + d > sizes[:, 1] + slack)
    turned = (c < a) | (d < b) | (c > sizes[:, 0] + slack) | (d > sizes[:, 1] + slack)
    if areas is not None and not unit:
        known = np.isfinite(areas)
        beyond |= known & (c * d < 0.98 * areas - slack)
        turned |= known & ((c - a) * (d - b) < 0.98 * areas - slack)
    format_: BoxFormat = "xyxy" if turned.sum() < beyond.sum() else "xywh"
    words = {"xyxy": "two corners", "xywh": "a corner, width and height"}[format_]
    share = ", as shares of the image" if unit else ""
    wrong = int(min(turned.sum(), beyond.sum())) if len(boxes) else 0
    note = f"Boxes are read as {words}{share}: {wrong} of {len(boxes)} boxes do not fit that reading."
    return BoxReading(format=format_, unit=unit, note=note)


def corners(box: Sequence[float], reading: BoxReading, width: int, height: int) -> Box:
    """Convert one box to x0, y0, x1, y1 in pixels."""
    a, b, c, d = (float(value) for value in box)
    if reading.format == "xywh":
        c, d = a + c, b + d
    if reading.unit:
        a, b, c, d = a * width, b * height, c * width, d * height
    return a, b, c, d
