"""What is true of a map: how it stands to the space, level by level, and which of its motion is noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from explorer.layout.effort import Effort, noise_floor
from explorer.layout.labels import LabelPairs
from explorer.layout.neighbours import Neighbours, unit_rows
from explorer.layout.quality import moves, rank_correlation
from trainers.metrics.catalogue import maps
from trainers.runs.map_numbers import MapNumber

Floors = Mapping[tuple[int, int], float]
"""Noise floor by arm and epochs."""


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


def noise_floors(numbers: Iterable[MapNumber]) -> Floors:
    """The noise floors among the numbers of a run's maps."""
    known: dict[tuple[int, int], dict[str, float]] = {}
    for one in numbers:
        known.setdefault((one.k, one.arm), {})[one.key] = one.value
    return {
        (arm, round(found[maps.EPOCHS])): found[maps.NOISE_FLOOR]
        for (_, arm), found in known.items()
        if maps.NOISE_FLOOR in found and maps.EPOCHS in found
    }


class Measurer:
    """Measures the maps of one run.

    Args:
        labels: int ``[P, L]`` of the run's probe, finest first; None: the images have none.
        floors: the noise floors that the run has already; each is measured once.
    """

    def __init__(self, labels: np.ndarray | None = None, floors: Floors | None = None) -> None:
        levels = () if labels is None else tuple(LabelPairs(labels[:, level]) for level in range(labels.shape[1]))
        self._levels = levels
        self._points = 0 if labels is None else len(labels)
        self._floors = dict(floors or {})

    def labels(self, embeddings: np.ndarray, xy: np.ndarray) -> dict[str, float]:
        """Label trustworthiness and continuity of each level that has classes to compare.

        Args:
            embeddings: float ``[P, D]``.
            xy: float ``[P, 2]``.
        """
        if len(xy) != self._points:
            return {}
        space, found = unit_rows(embeddings), {}
        for level, pairs in enumerate(self._levels):
            measured = pairs.measure(space, xy)
            if measured is not None:
                found[maps.at_level(maps.TRUSTWORTHINESS, level)] = measured.trustworthiness
                found[maps.at_level(maps.CONTINUITY, level)] = measured.continuity
        return found

    def agreement(self, moved: Moved) -> dict[str, float]:
        """Rank correlation of the moves on the map and in the space; nothing where one of them stood still."""
        if moved.embeddings_before is None or moved.embeddings_before.shape != moved.embeddings.shape:
            return {}
        away = np.linalg.norm(unit_rows(moved.embeddings) - unit_rows(moved.embeddings_before), axis=1)
        found = rank_correlation(moves(moved.xy, moved.before), away)
        return {} if found is None else {maps.AGREEMENT: found}

    def floor(self, arm: int, near: Neighbours, xy: np.ndarray, effort: Effort, seed: int) -> dict[str, float]:
        """The noise floor of maps of this effort, measured at the first of them, and the epochs.

        Args:
            near: of the embedding that ``xy`` shows.
            xy: float ``[P, 2]``.
            seed: of the frame that would come next.
        """
        key = (arm, effort.epochs)
        if key not in self._floors:
            self._floors[key] = noise_floor(near, xy, effort, seed)
        return {maps.NOISE_FLOOR: self._floors[key], maps.EPOCHS: float(effort.epochs)}
