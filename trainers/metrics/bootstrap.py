"""Confidence intervals of a mean over queries, by resampling the queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_CELLS = 2**22  # resampled values held at once
_LEVEL = 0.95  # coverage
_RESAMPLES = 1000  # how often Q queries are drawn with replacement


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean and its percentile interval; all NaN where there is no query. ``queries``: how many have a value."""

    mean: float
    low: float
    high: float
    queries: int


def bootstrap(values: np.ndarray) -> Interval:
    """Percentile bootstrap (Efron 1979) of the mean: 95 %, the same for the same input.

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
