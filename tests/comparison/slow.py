"""The bootstrap over classes and the interval again, query by query in plain loops."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
from scipy import stats


def resampled_means(values: Sequence[float], labels: Sequence[int], draws: np.ndarray) -> list[float]:
    """The mean of each resample of classes: ``draws[b]`` are places in the sorted list of classes."""
    classes = sorted(set(labels))
    means = []
    for draw in draws:
        taken: list[float] = []
        for place in draw:
            taken += [value for value, label in zip(values, labels, strict=True) if label == classes[place]]
        means.append(math.fsum(taken) / len(taken))
    return means


def linear_variance(values: Sequence[float], labels: Sequence[int]) -> float:
    """Variance of a mean of clusters, linearised: sum over classes of (sum of (value - mean))^2 / N^2."""
    mean, total = statistics.fmean(values), 0.0
    for one in set(labels):
        total += sum(value - mean for value, label in zip(values, labels, strict=True) if label == one) ** 2
    return total / len(values) ** 2


def interval(values: np.ndarray, labels: Sequence[int], draws: np.ndarray, error: float = 0.05) -> tuple[float, float]:
    """The interval of the mean of results ``[S, Q]``, from the formulas in docs/statistics.md."""
    seeds = len(values)
    sizes = [list(labels).count(label) for label in set(labels)]
    effective = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    of_seeds = [resampled_means(list(row), labels, draws) for row in values]
    centre = [statistics.fmean(column) for column in zip(*of_seeds, strict=True)]
    factor = effective / (effective - 1)
    by_class = factor * statistics.variance(centre)
    t_class = stats.t.ppf(1 - error / 2, max(1.0, effective - 1))
    mean = statistics.fmean([statistics.fmean(row) for row in values])
    if seeds == 1:
        half = t_class * math.sqrt(by_class)
        return mean - half, mean + half
    by_seed = statistics.variance([statistics.fmean(row) for row in values]) / seeds
    both = 0.0
    for row in of_seeds:
        both += statistics.variance([one - other for one, other in zip(row, centre, strict=True)])
    both *= factor / (seeds * (seeds - 1))
    t_seed = stats.t.ppf(1 - error / 2, seeds - 1)
    whole = math.sqrt(t_class**2 * by_class + t_seed**2 * max(0.0, by_seed - both))
    half = max(whole, t_seed * math.sqrt(by_seed))
    return mean - half, mean + half
