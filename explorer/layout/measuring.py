"""The truth of a map: how it compares with the space, level by level, and whether it moves as the space does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.layout.labels import LabelPairs
from explorer.layout.neighbours import unit_rows
from explorer.layout.quality import moves, rank_correlation
from trainers.metrics.catalogue import maps


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A map and the one before it, with their embeddings; rows are the same points in all four.

    Attributes:
        xy, before: float ``[P, 2]``.
        embeddings, embeddings_before: float ``[P, D]``; None: they are not kept.
    """

    xy: np.ndarray
    before: np.ndarray
    embeddings: np.ndarray
    embeddings_before: np.ndarray | None


class Measurer:
    """Measures the maps of one run.

    Args:
        labels: int ``[P, L]`` of the run's probe, finest first; None: the images have none.
    """

    def __init__(self, labels: np.ndarray | None = None) -> None:
        levels = () if labels is None else tuple(LabelPairs(labels[:, level]) for level in range(labels.shape[1]))
        self._levels = levels
        self._points = 0 if labels is None else len(labels)

    def labels(self, embeddings: np.ndarray, xy: np.ndarray) -> dict[str, float]:
        """Label trustworthiness and continuity of each level that has classes to compare.

        Args:
            embeddings: float ``[P, D]``.
            xy: float ``[P, 2]``.
        """
        if len(xy) != self._points:
            return {}
        space, measures = unit_rows(embeddings), {}
        for level, pairs in enumerate(self._levels):
            measured = pairs.measure(space, xy)
            if measured is not None:
                measures[maps.at_level(maps.TRUSTWORTHINESS, level)] = measured.trustworthiness
                measures[maps.at_level(maps.CONTINUITY, level)] = measured.continuity
        return measures

    def agreement(self, moved: Moved) -> dict[str, float]:
        """Rank correlation of the moves on the map and in the space; nothing where one of them stood still."""
        if moved.embeddings_before is None or moved.embeddings_before.shape != moved.embeddings.shape:
            return {}
        away = np.linalg.norm(unit_rows(moved.embeddings) - unit_rows(moved.embeddings_before), axis=1)
        correlation = rank_correlation(moves(moved.xy, moved.before), away)
        return {} if correlation is None else {maps.AGREEMENT: correlation}
