"""Precision against recall along ranked lists, plain and hierarchical: step functions whose areas are AP and H-AP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from trainers.metrics.blocks import ranked_blocks
from trainers.metrics.catalogue.h_ap import graded
from trainers.metrics.ranked_lists import RankedBlock
from trainers.metrics.ranking import Column
from trainers.training.host import columns, host

POINTS = 300
"""Steps of a curve for a page."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A step function of recall: ``precision[i]`` from ``recall[i - 1]`` (0 before the first) to ``recall[i]``.

    Attributes:
        recall: float64 ``[n]``, rising to 1.
        precision: float64 ``[n]``, from 0 to 1.
    """

    recall: np.ndarray
    precision: np.ndarray

    @property
    def area(self) -> float:
        """AP of a plain curve, H-AP of a hierarchical one; of a mean curve the mean of these."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def thinned(self, most: int = POINTS) -> Curve:
        """A curve of the same area with at most ``most`` steps, more of them where the precision changes.

        Neighbouring steps are joined to one of their mean height.
        """
        width = np.diff(self.recall, prepend=0.0)
        if len(width) <= most:
            return self
        jump = np.abs(np.diff(self.precision, prepend=self.precision[0]))
        length = np.cumsum(width + jump / max(jump.sum(), 1e-300))
        group = np.minimum((length / length[-1] * most).astype(np.int64), most - 1)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        joined = np.add.reduceat(width, first)
        mean = np.add.reduceat(width * self.precision, first) / joined
        return Curve(recall=self.recall[np.append(first[1:], len(width)) - 1], precision=mean)


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Both curves of a ranked list, or the mean ones of a set.

    Attributes:
        plain: precision against recall, one level of the labels saying what is relevant; None: nothing is.
        hierarchical: its counterpart over the label tree; None: nothing shares any level.
    """

    plain: Curve | None
    hierarchical: Curve | None


def query_curves(
    query: Tensor,
    label: Tensor,
    gallery: Tensor,
    gallery_labels: Tensor,
    *,
    own: int | None = None,
    level: int = 0,
) -> Curves:
    """The curves of one query, of the list that the metrics rank (ties: the less relevant first).

    Plain: at each relevant result, the share of results so far that are relevant, against the share of the relevant
    ones found. Hierarchical (Ramzi et al. 2022, section on H-AP): with rel of a result as in H-AP,
    HR(r) = sum_{j up to r} rel_j / sum_j rel_j and HP(r) = sum_{j up to r} min(rel_r, rel_j) / (r rel_r).

    Args:
        query: floating ``[D]``; label: integers ``[L]``, finest first.
        gallery: ``[G, D]``; gallery_labels: ``[G, L]``.
        own: row of the query in the gallery, left out of its results; None: it is not in there.
        level: column of the labels that the plain curve is of, 0 the finest.
    """
    own_rows = None if own is None else np.array([own])
    blocks = ranked_blocks(query[None], columns(label[None]), gallery, columns(gallery_labels), own_rows)
    ((_, block),) = blocks
    plain, hierarchical = _plain(block, level), _hierarchical(block)
    return Curves(plain=next(plain, None), hierarchical=next(hierarchical, None))


def mean_curves(
    queries: Tensor,
    labels: Tensor,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    *,
    level: int = 0,
    points: int = 200,
    progress: Callable[[int], None] | None = None,
) -> Curves:
    """The mean of the curves of many queries; those without a relevant image are left out, as of the metrics' means.

    Each of ``points`` equal steps of recall has the mean height there, so the areas are mean AP and mean H-AP.

    Args:
        queries: floating ``[Q, D]``; labels: integers ``[Q, L]``, finest first.
        gallery, gallery_labels: ``[G, D]`` and ``[G, L]``; None: each query is searched among the others.
        level: as for :func:`query_curves`.
        progress: called with the number of queries done; it may raise to stop.
    """
    own = np.arange(len(queries)) if gallery is None else None
    known, kept = (queries, labels) if gallery is None or gallery_labels is None else (gallery, gallery_labels)
    means = _Mean(points), _Mean(points)
    for part, block in ranked_blocks(queries, columns(labels), known, columns(kept), own):
        for mean, found in zip(means, (_plain(block, level), _hierarchical(block)), strict=True):
            for curve in found:
                mean.add(curve)
        if progress is not None:
            progress(part.stop)
    return Curves(plain=means[0].curve(), hierarchical=means[1].curve())


class _Mean:
    """Sums areas under curves up to each mark of recall: what is between two marks is the mean height there."""

    def __init__(self, points: int) -> None:
        self._marks = np.linspace(0.0, 1.0, points + 1)
        self._sum, self._count = np.zeros(points + 1), 0

    def add(self, curve: Curve) -> None:
        area = np.cumsum(np.diff(curve.recall, prepend=0.0) * curve.precision)
        self._sum += np.interp(self._marks, np.append(0.0, curve.recall), np.append(0.0, area))
        self._count += 1

    def curve(self) -> Curve | None:
        if not self._count:
            return None
        height = np.diff(self._sum) / np.diff(self._marks) / self._count
        return Curve(recall=self._marks[1:], precision=height)


def _plain(block: RankedBlock, level: int) -> Iterator[Curve]:
    """The plain curve of every list that has one."""
    column = Column(block, level)
    hit = column.hit > 0
    precision, row = column.precision[hit].cpu().numpy(), block.row[hit]
    yield from _split(host(row), np.ones(len(precision)), precision)


def _hierarchical(block: RankedBlock) -> Iterator[Curve]:
    """The hierarchical curve of every list that has one."""
    relevance, hrank, _ = graded(block)
    precision = hrank / (block.rank * relevance)
    yield from _split(host(block.row), relevance.cpu().numpy(), precision.cpu().numpy())


def _split(row: np.ndarray, weight: np.ndarray, precision: np.ndarray) -> Iterator[Curve]:
    """A curve for each list that has items, from the list, weight and precision of each item ``[P]``."""
    if not len(row):
        return
    first = np.flatnonzero(np.diff(row, prepend=-1))
    for some in zip(np.split(weight, first[1:]), np.split(precision, first[1:]), strict=True):
        total = np.cumsum(some[0])
        yield Curve(recall=total / total[-1], precision=some[1])
