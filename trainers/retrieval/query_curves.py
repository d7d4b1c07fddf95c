"""Precision against recall along ranked lists, plain and hierarchical: step functions whose areas are AP and H-AP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.metrics.catalogue.ranking import graded
from trainers.metrics.ranked_lists import Column, RankedBlock

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
        """AP of a plain curve, H-AP of a hierarchical one."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def as_json(self) -> dict[str, Any]:
        """Return it as lists of numbers, thinned; the area is that of all steps."""
        drawn = self.thinned()
        steps = {"recall": drawn.recall, "precision": drawn.precision}
        return {"area": self.area, **{name: np.round(values, 5).tolist() for name, values in steps.items()}}

    def thinned(self, most: int = POINTS) -> Curve:
        """Return a curve of the same area with at most ``most`` steps, more of them where the precision changes.

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
    """Both curves of a ranked list.

    Attributes:
        plain: precision against recall, the finest level of the labels saying what is relevant; None: nothing is.
        hierarchical: its counterpart over the label tree; None: nothing shares any level.
    """

    plain: Curve | None
    hierarchical: Curve | None

    def as_json(self) -> dict[str, Any]:
        """Recall, precision and area of each, or None; of a few hundred steps at most."""
        curves = {"plain": self.plain, "hierarchical": self.hierarchical}
        return {name: None if curve is None else curve.as_json() for name, curve in curves.items()}


def curves_of(block: RankedBlock) -> Curves:
    """Return the curves of a block of one list, as :func:`trainers.metrics.scores.query_block` makes it.

    Plain: at each relevant result, the share of results so far that are relevant, against the share of the relevant
    ones found. Hierarchical (Ramzi et al. 2022, section on H-AP): with rel of a result as in H-AP, HR(r) = sum_{j up to
    r} rel_j / sum_j rel_j and HP(r) = sum_{j up to r} min(rel_r, rel_j) / (r rel_r).
    """
    return Curves(plain=_plain(block), hierarchical=_hierarchical(block))


def _plain(block: RankedBlock) -> Curve | None:
    column = Column(block, 0)
    precision = column.precision[column.hit > 0].cpu().numpy()
    return _curve(np.ones(len(precision)), precision)


def _hierarchical(block: RankedBlock) -> Curve | None:
    relevance, hrank, _ = graded(block)
    return _curve(relevance.cpu().numpy(), (hrank / (block.rank * relevance)).cpu().numpy())


def _curve(weight: np.ndarray, precision: np.ndarray) -> Curve | None:
    """Make a curve from the weight and precision ``[P]`` of each item of a list; None: it has none."""
    total = np.cumsum(weight)
    return Curve(recall=total / total[-1], precision=precision) if len(total) else None
