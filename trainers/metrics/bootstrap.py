"""Resamples of a mean over queries: of single queries, with its confidence interval, and of whole classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_CELLS = 2**22  # resampled values held at once
_LEVEL = 0.95  # coverage
_KEPT = 2**24  # draws of classes, 32 MB, that are kept for the next call
_RESAMPLES = 1000  # how often Q queries are drawn with replacement
_CLASS_RESAMPLES = 4000  # how often C classes are; their standard deviation is then known to about 1 %


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean and its percentile interval; all NaN where there is no query. ``queries``: how many have a value."""

    mean: float
    low: float
    high: float
    queries: int


def bootstrap(values: np.ndarray) -> Interval:
    """Bootstrap the mean over queries by percentiles (Efron 1979): 95 %, the same for the same input.

    It is of one trained model; over several trainings :mod:`trainers.comparison` makes the intervals.

    Args:
        values: float ``[Q]``; NaN entries are left out first.
    """
    values = np.asarray(values, dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(mean=math.nan, low=math.nan, high=math.nan, queries=0)
    rng, means = np.random.default_rng(0), np.empty(_RESAMPLES)
    step = max(1, _CELLS // len(values))
    for first in range(0, _RESAMPLES, step):
        count = min(step, _RESAMPLES - first)
        means[first : first + count] = values[rng.integers(0, len(values), (count, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(mean=float(values.mean()), low=float(low), high=float(high), queries=len(values))


def class_resamples(sums: np.ndarray, counts: np.ndarray, resamples: int = _CLASS_RESAMPLES) -> np.ndarray:
    """Cluster bootstrap of means over queries whose results within a class depend on each other.

    Each resample draws C classes with replacement, the same ones for every column, and takes all of their queries
    (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8).

    Args:
        sums: float ``[C, K]``, sums over the queries of each class, of K results of the same queries.
        counts: ``[C]``, queries of each class, 1 or more.
        resamples: how many, B.

    Returns:
        float64 ``[B, K]``, the K means over the queries of each resample; the same for the same input.
    """
    classes = len(counts)
    step = max(1, _CELLS // classes)
    draw = _kept_draws if resamples * classes <= _KEPT else _draws
    means = [(times @ sums) / (times @ counts)[:, None] for times in map(np.float64, draw(classes, resamples, step))]
    return np.concatenate(means)


def _draws(classes: int, resamples: int, step: int) -> Iterator[np.ndarray]:
    """Yield how often each class is drawn in each resample: uint16 ``[step or fewer, C]``, same for the same input."""
    rng = np.random.default_rng(0)
    for first in range(0, resamples, step):
        some = min(step, resamples - first)
        drawn = rng.integers(0, classes, (some, classes)) + classes * np.arange(some)[:, None]
        yield np.bincount(drawn.ravel(), minlength=some * classes).reshape(some, classes).astype(np.uint16)


@lru_cache(maxsize=1)  # a table asks for the same draws once per metric and condition
def _kept_draws(classes: int, resamples: int, step: int) -> tuple[np.ndarray, ...]:
    return tuple(_draws(classes, resamples, step))
