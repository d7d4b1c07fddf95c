"""The regions of the objects of an image: boxes or masks on one grid of cells, so that unions and overlaps are exact.

Boxes are cut at each other's edges (coordinate compression); the cells between the cuts are inside or outside every
box, and areas are sums of cells. With masks every cell is a pixel.

Also the classes that may be taken out of an image (Kim et al. 2023, equations 1 to 3), with the gaps filled. Readings
of ours, where the paper is silent: areas are those of unions; an overlap between tau1 and tau2 forbids the removal; in
the case of several classes the survivors are measured against everything that is removed; a removal after which no
class is left is refused; one class per image is chosen with equal chances under a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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


TAU1, TAU2, TAU3 = 0.4, 0.8, 0.7
"""A class that stays loses less than ``TAU1`` of its area; one that loses more than ``TAU2`` is removed too; the
removed region is less than ``TAU3`` of the image."""
ONE_CLASS = "This image has one class only: nothing is left to be named, so only hallucination can be shown."


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict on taking out one class.

    Attributes:
        chosen: the class asked for.
        removed: it and every class it nearly covers, in the image's order.
        kept: classes that stay.
        case: ``single`` (equation 1) or ``several`` (equation 2).
        lost: class that stays to the share of its area that goes, 0 to 1.
        share: removed region as a share of the image.
        problems: plain sentences, empty if the removal counts for the metric. The page may still do it and show them.
    """

    chosen: str
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    case: Literal["single", "several"]
    lost: dict[str, float]
    share: float
    problems: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Whether the removal counts for ODmAP and for object-removed pairs."""
        return not self.problems


def judge(regions: Regions, chosen: str) -> Judgement:
    """Apply equations 1 to 3 to one class of an image.

    Raises:
        UserError: the image has no such class.
    """
    if chosen not in regions.cells:
        raise UserError(f"The image has no {chosen!r}; it has {', '.join(regions.classes) or 'no objects'}.")
    first = regions.cells[chosen]
    swallowed = {name for name in regions.classes if name != chosen and _lost(regions, name, first) > TAU2}
    removed = tuple(name for name in regions.classes if name == chosen or name in swallowed)
    kept = tuple(name for name in regions.classes if name not in removed)
    gone = regions.union(removed)
    lost = {name: _lost(regions, name, gone) for name in kept}
    share = regions.pixels(gone) / regions.total
    return Judgement(
        chosen=chosen,
        removed=removed,
        kept=kept,
        case="several" if swallowed else "single",
        lost=lost,
        share=share,
        problems=_problems(regions, removed, lost, share),
    )


def _problems(regions: Regions, removed: tuple[str, ...], lost: dict[str, float], share: float) -> tuple[str, ...]:
    problems = []
    if len(regions.classes) < 2:
        problems.append(ONE_CLASS)
    elif not lost:
        problems.append(f"With {', '.join(removed)} gone no object is left.")
    for name, part in lost.items():
        if part >= TAU1:
            problems.append(
                f"{name} would lose {part:.0%} of its area: too much to stay (limit {TAU1:.0%}), too "
                f"little to be removed with it (above {TAU2:.0%})."
            )
    if share >= TAU3:
        problems.append(f"The removed region is {share:.0%} of the image; less than {TAU3:.0%} is needed.")
    return tuple(problems)


def judge_all(regions: Regions) -> tuple[Judgement, ...]:
    """Return one judgement per class of the image."""
    return tuple(judge(regions, name) for name in regions.classes)


def choose(regions: Regions, seed: int) -> Judgement | None:
    """Choose one allowed removal with equal chances, the same for the same seed; None if there is none.

    Args:
        seed: any whole number; give every image its own, for example from its id.
    """
    allowed = [judgement for judgement in judge_all(regions) if judgement.allowed]
    return allowed[int(np.random.default_rng(seed).integers(len(allowed)))] if allowed else None


def _lost(regions: Regions, name: str, gone: np.ndarray) -> float:
    """Compute area(gone and B_c) / area(B_c): the class that must survive is the denominator."""
    area = regions.cells[name]
    return regions.pixels(area & gone) / regions.pixels(area)
