"""The regions of the objects of an image: boxes or masks on one grid of cells, so that unions and overlaps are exact.

Boxes are cut at each other's edges (coordinate compression); the cells between the cuts are inside or outside every
box, and areas are sums of cells. With masks every cell is a pixel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainers.errors import UserError

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels from the top left corner."""


@dataclass(frozen=True, kw_only=True)
class CleanBoxes:
    """Boxes that can be used.

    Attributes:
        boxes: corners sorted, cut to the image, with an area above zero.
        kept: int64, place of each in the given list.
        dropped: how many had no area inside the image or no finite corners.
    """

    boxes: tuple[Box, ...]
    kept: tuple[int, ...]
    dropped: int


def clean_boxes(boxes: Sequence[Sequence[float]], width: int, height: int) -> CleanBoxes:
    """Sort reversed corners, cut to the image, drop what is left without an area or is not finite."""
    good, kept = [], []
    for index, box in enumerate(boxes):
        if len(box) != 4 or not all(math.isfinite(value) for value in box):
            continue
        x0, x1 = sorted((float(box[0]), float(box[2])))
        y0, y1 = sorted((float(box[1]), float(box[3])))
        x0, x1 = max(x0, 0.0), min(x1, float(width))
        y0, y1 = max(y0, 0.0), min(y1, float(height))
        if x1 > x0 and y1 > y0:
            good.append((x0, y0, x1, y1))
            kept.append(index)
    return CleanBoxes(boxes=tuple(good), kept=tuple(kept), dropped=len(boxes) - len(good))


@dataclass(frozen=True, kw_only=True)
class Regions:
    """The region of every class of an image.

    Attributes:
        cells: class to bool ``[h, w]``, cells that any of its objects covers.
        area: float64 ``[h, w]``, pixels per cell.
        total: pixels of the image.
    """

    cells: dict[str, np.ndarray]
    area: np.ndarray
    total: float

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes in the order they were first given."""
        return tuple(self.cells)

    @classmethod
    def of_boxes(cls, boxes: Sequence[Box], classes: Sequence[str], width: int, height: int) -> Regions:
        """Make them from boxes that :func:`clean_boxes` returned, one class name each.

        Raises:
            UserError: the numbers of boxes and names differ, or the image has no pixels.
        """
        if len(boxes) != len(classes) or width < 1 or height < 1:
            raise UserError(
                f"One class name per box and an image with pixels were needed; got {len(boxes)} boxes, "
                f"{len(classes)} names and {width} x {height} pixels."
            )
        corners = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
        xs = np.unique(np.concatenate([[0.0, width], corners[:, 0], corners[:, 2]]))
        ys = np.unique(np.concatenate([[0.0, height], corners[:, 1], corners[:, 3]]))
        cells: dict[str, np.ndarray] = {}
        for (x0, y0, x1, y1), name in zip(corners, classes, strict=True):
            grid = cells.setdefault(name, np.zeros((len(ys) - 1, len(xs) - 1), dtype=bool))
            grid[
                np.searchsorted(ys, y0) : np.searchsorted(ys, y1), np.searchsorted(xs, x0) : np.searchsorted(xs, x1)
            ] = True
        return cls(cells=cells, area=np.outer(np.diff(ys), np.diff(xs)), total=float(width * height))

    @classmethod
    def of_masks(cls, masks: Sequence[np.ndarray], classes: Sequence[str]) -> Regions:
        """Make them from bool masks ``[H, W]`` of one image, one class name each; empty masks are left out.

        Raises:
            UserError: no mask, shapes that differ, or not one name per mask.
        """
        shapes = {mask.shape for mask in masks}
        if len(shapes) != 1 or len(masks) != len(classes) or len(next(iter(shapes))) != 2:
            raise UserError(
                f"Masks of one shape [H, W] with one class name each were needed; got {len(masks)} masks of shapes "
                f"{sorted(shapes)} and {len(classes)} names."
            )
        shape = next(iter(shapes))
        cells: dict[str, np.ndarray] = {}
        for mask, name in zip(masks, classes, strict=True):
            if mask.any():
                cells[name] = cells.get(name, np.zeros(shape, dtype=bool)) | mask.astype(bool)
        return cls(cells=cells, area=np.ones(shape), total=float(shape[0] * shape[1]))

    def union(self, names: Sequence[str]) -> np.ndarray:
        """Return cells that any object of the classes covers, bool ``[h, w]``."""
        covered = np.zeros(self.area.shape, dtype=bool)
        for name in names:
            covered |= self.cells[name]
        return covered

    def pixels(self, covered: np.ndarray) -> float:
        """Return the area of covered cells in pixels."""
        return float(self.area[covered].sum())


def pixel_mask(boxes: Sequence[Box], width: int, height: int) -> np.ndarray:
    """Return the pixels that boxes touch, bool ``[height, width]``: edges are rounded outwards, so nothing shows."""
    mask = np.zeros((height, width), dtype=bool)
    for x0, y0, x1, y1 in boxes:
        mask[math.floor(y0) : math.ceil(y1), math.floor(x0) : math.ceil(x1)] = True
    return mask
