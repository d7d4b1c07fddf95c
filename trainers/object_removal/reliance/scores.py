"""Numbers of one arm: how well each form of a query finds its class, and which neighbours stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainers.hierarchy import missed_when_wrong, shared_levels
from trainers.metrics.blocks import ranked_blocks
from trainers.metrics.names import parse_all
from trainers.metrics.scores import score_blocks
from trainers.object_removal.reliance.queries import WHOLE

METRICS = ("R_at_1", "HAP")
NEAREST = 10
"""Neighbours that are compared."""
_CELLS = 2**22  # similarities held at once


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of Q queries, for one form of them.

    Attributes:
        metrics: float64 ``[Q]`` by the names of :data:`METRICS`, NaN where a query has no positive.
        nearest: int64 ``[Q, K]``, places in the gallery, nearest first; the query's own image is not among them.
        stays: float64 ``[Q]``, share of the neighbours of the whole image that are among these.
        similarity: float64 ``[Q]``, cosine with the whole image.
        missed: float64 ``[Q]``, levels on which the first result disagrees; NaN where it is of the query's class.
    """

    metrics: Mapping[str, np.ndarray]
    nearest: np.ndarray
    stays: np.ndarray
    similarity: np.ndarray
    missed: np.ndarray

    def only(self, some: np.ndarray) -> Scores:
        """Put NaN for all queries but ``some``, bool ``[Q]``."""

        def kept(values: np.ndarray) -> np.ndarray:
            return np.where(some, values, np.nan)

        return replace(
            self,
            metrics={name: kept(values) for name, values in self.metrics.items()},
            stays=kept(self.stays),
            similarity=kept(self.similarity),
            missed=kept(self.missed),
        )


def score_forms(
    forms: Mapping[str, Tensor], gallery: Tensor, labels: np.ndarray, indices: np.ndarray
) -> dict[str, Scores]:
    """Search the gallery, whose images are untouched, with every form of the queries.

    A query's own image is taken out of the gallery for each of its forms: whatever was done to it, it would be found
    by what is left.

    Args:
        forms: embeddings ``[Q, D]`` by form, :data:`WHOLE` among them.
        gallery: ``[N, D]``.
        labels: ``[N, L]`` of the gallery, finest first.
        indices: int64 ``[Q]`` of the queries in the gallery.
    """
    metrics = parse_all(METRICS, labels.shape[1])
    untouched = forms[WHOLE]
    near = nearest(untouched, gallery, indices)
    scores = {}
    for form, queries in forms.items():
        values = score_blocks(ranked_blocks(queries, labels[indices], gallery, labels, indices), metrics).values
        nearest_rows = near if form == WHOLE else nearest(queries, gallery, indices)
        scores[form] = Scores(
            metrics=values,
            nearest=nearest_rows,
            stays=np.array([len(np.intersect1d(a, b)) for a, b in zip(near, nearest_rows, strict=True)])
            / near.shape[1],
            similarity=torch.nn.functional.cosine_similarity(queries.double(), untouched.double()).numpy(),
            missed=missed_when_wrong(shared_levels(labels[nearest_rows[:, 0]], labels[indices]), labels.shape[1]),
        )
    return scores


def nearest(queries: Tensor, gallery: Tensor, indices: np.ndarray, count: int = NEAREST) -> np.ndarray:
    """Find the most similar images, int64 ``[Q, K]``, K at most ``count``; of equal ones the first comes first.

    Args:
        indices: int64 ``[Q]``, of each query's own image, which is left out; -1: it is not in the gallery.
    """
    unit = torch.nn.functional.normalize(gallery.double(), dim=1)
    asked = torch.nn.functional.normalize(queries.double(), dim=1)
    kept = min(count, len(gallery) - int((indices >= 0).any()))
    rows = np.empty((len(queries), kept), dtype=np.int64)
    step = max(1, _CELLS // max(1, len(gallery)))
    for first in range(0, len(queries), step):
        part = slice(first, first + step)
        similarity = (asked[part] @ unit.T).numpy()
        there = np.flatnonzero(indices[part] >= 0)
        similarity[there, indices[part][there]] = -np.inf
        rows[part] = np.argsort(-similarity, axis=1, kind="stable")[:, :kept]
    return rows


def chance(labels: np.ndarray, indices: np.ndarray) -> float:
    """Return R@1 of a random order: mean share of the gallery's other images that are of a query's finest class."""
    _, inverse, counts = np.unique(labels[:, 0], return_inverse=True, return_counts=True)
    return float(np.mean((counts[inverse.reshape(-1)[indices]] - 1) / (len(labels) - 1)))
