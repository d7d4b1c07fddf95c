"""Made-up results of two variants with effects of the seed, the class, the query and all of these together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.comparison import Cell
from trainers.runs.records import QueryScores

METRIC = "R_at_1"


@dataclass(frozen=True, kw_only=True)
class Effects:
    """Standard deviations of the effects on a difference; its true mean is 0.

    Attributes:
        seed: of a training as a whole; ``by_class``: of a class; ``both``: of a class in one training.
        query: of a query in every training; ``noise``: of a query in one training.
    """

    seed: float = 0.0
    by_class: float = 0.0
    both: float = 0.0
    query: float = 0.0
    noise: float = 0.0


SCENARIOS = {
    "seeds": Effects(seed=1, by_class=0.3, both=0.3, query=0.3, noise=0.3),
    "classes": Effects(seed=0.02, by_class=1, both=0.1, query=0.5, noise=0.1),
    "all alike": Effects(seed=0.3, by_class=1, both=1, query=1, noise=1),
    "queries": Effects(query=1, noise=2),
}


def class_sizes(classes: int, each: int, unequal: bool, rng: np.random.Generator) -> np.ndarray:
    """Queries of each class, 2 or more; unequal: of a geometric distribution."""
    if not unequal:
        return np.full(classes, each)
    return np.maximum(2, rng.geometric(1 / each, classes))


def differences(effects: Effects, seeds: int, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Differences of every query: float64 ``[S, Q]``."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.normal(0, effects.seed, (seeds, 1)) + rng.normal(0, effects.by_class, len(sizes))[labels]
    values = values + rng.normal(0, effects.both, (seeds, len(sizes)))[:, labels]
    return values + rng.normal(0, effects.query, len(labels)) + rng.normal(0, effects.noise, (seeds, len(labels)))


def scores(values: np.ndarray, labels: np.ndarray, fingerprint: str = "images") -> QueryScores:
    """The record of one arm with one metric ``[Q]``."""
    return QueryScores(
        metrics=(METRIC,),
        values=values[None, None].astype(np.float32),
        labels=labels.astype(np.int32),
        rows=np.arange(len(labels)),
        images=len(labels),
        fingerprint=fingerprint,
    )


def cells(values: np.ndarray, labels: np.ndarray, variant: str = "a", **condition: float) -> list[Cell]:
    """A cell per seed from results ``[S, Q]``, numbered from 0."""
    kept = [scores(row, labels) for row in values]
    return [
        Cell(
            variant=variant,
            condition=condition,
            seed=seed,
            metrics={METRIC: float(np.nanmean(one.values.astype(np.float64)))},
            queries=one,
        )
        for seed, one in enumerate(kept)
    ]
