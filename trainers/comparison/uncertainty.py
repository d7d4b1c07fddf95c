"""The uncertainty of a mean over seeds and test queries: two variances, their t quantiles, interval and p value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from trainers.metrics.bootstrap import class_resamples

LEVEL = 0.95
"""Coverage of the intervals."""
_LEAST_P = 1e-12  # smaller p values are this one
_ROUNDING = 1e-6  # of a mean: results per query are kept as float32


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Queries grouped by class.

    Attributes:
        sums: float64 ``[C, S]``, sum over the queries of each class, per seed.
        counts: float64 ``[C]``, queries of each class.
        resamples: float64 ``[B, S]``, the means of :func:`trainers.metrics.bootstrap.class_resamples`.
    """

    sums: np.ndarray
    counts: np.ndarray
    resamples: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, labels: np.ndarray) -> Classes:
        """Make them from results ``[S, Q]`` without NaN and the classes ``[Q]`` of the queries."""
        _, compact = np.unique(labels, return_inverse=True)
        counts = np.bincount(compact).astype(np.float64)
        sums = np.stack([np.bincount(compact, weights=row, minlength=len(counts)) for row in values], axis=1)
        return cls(sums=sums, counts=counts, resamples=class_resamples(sums, counts))

    @property
    def effective(self) -> float:
        """How many classes of equal size tell as much: (sum n)^2 / sum n^2 (Kish 1965), 1 to C."""
        return float(self.counts.sum() ** 2 / (self.counts**2).sum())

    def columns(self, some: np.ndarray) -> Classes:
        """Return some of the seeds, by index ``[S']``."""
        return Classes(sums=self.sums[:, some], counts=self.counts, resamples=self.resamples[:, some])

    def minus(self, other: Classes) -> Classes:
        """Return the differences from another variant on the same queries, seed by seed."""
        return Classes(sums=self.sums - other.sums, counts=self.counts, resamples=self.resamples - other.resamples)


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """The variance of a mean over S seeds and over test classes.

    With effects of the seed, the class, both together and the query, the variance of the mean has a share of the
    seeds, a share of the classes and a share of both, which ``by_seed`` and ``by_class`` each hold.

    Attributes:
        seeds: S.
        by_seed: squared standard error over the seeds; NaN for one seed.
        by_class: squared standard error over the classes of the mean of the seeds; NaN: no results per query, or one
            class.
        by_both: the share that the two have in common; NaN where one of them is.
        classes: effective number of classes, see :attr:`Classes.effective`.
    """

    seeds: int
    by_seed: float
    by_class: float
    by_both: float
    classes: float

    @classmethod
    def of(cls, values: np.ndarray, classes: Classes | None) -> Uncertainty:
        """Compute it from the mean of each seed ``[S]`` and the results per class of the same seeds.

        The bootstrap over classes gives the variance that C classes of equal size would have times (1 - 1/C), so it is
        divided by that; with unequal sizes C is the effective number.
        """
        seeds = len(values)
        by_seed = float(values.var(ddof=1)) / seeds if seeds > 1 else math.nan
        if classes is None or len(classes.counts) < 2:
            return cls(seeds=seeds, by_seed=by_seed, by_class=math.nan, by_both=math.nan, classes=math.nan)
        effective, drawn = classes.effective, classes.resamples
        scale = effective / (effective - 1)
        centre = drawn.mean(1)
        both = math.nan
        if seeds > 1:
            both = scale * float((drawn - centre[:, None]).var(0, ddof=1).sum()) / (seeds * (seeds - 1))
        by_class = scale * float(centre.var(ddof=1))
        return cls(seeds=seeds, by_seed=by_seed, by_class=by_class, by_both=both, classes=effective)

    @property
    def over_seeds(self) -> bool:
        """Whether it covers other trainings."""
        return not math.isnan(self.by_seed)

    @property
    def over_classes(self) -> bool:
        """Whether it covers other test classes."""
        return not math.isnan(self.by_class)

    @property
    def standard_error(self) -> float:
        """Of the mean: the share of the seeds and that of the classes, what they have in common once; NaN: unknown."""
        known = [share for share in (self.by_seed, self.by_class) if not math.isnan(share)]
        if len(known) < 2:
            return math.sqrt(known[0]) if known else math.nan
        return math.sqrt(max(self.by_seed, self.by_class + max(0.0, self.by_seed - self.by_both)))

    def half_width(self, error: float = 1 - LEVEL) -> float:
        """Return the half of the interval that misses the mean with a probability of at most about ``error``; NaN:
        unknown.

        With t quantiles of S - 1 and C - 1 degrees of freedom it is the larger of t_S sqrt(by_seed) and sqrt(t_C^2
        by_class + t_S^2 max(0, by_seed - by_both)): each variance has its own quantile, as in Banerjee (Sankhya 1961),
        which needs no estimate of common degrees of freedom. His bound on the error is for a sum of independent
        variances; here one is subtracted and by_class is from a bootstrap, so the coverage is a matter of simulation:
        see ``docs/statistics.md``. The first of the two is there because by_seed - by_both is often 0 by chance with
        few seeds.
        """
        if not self.over_seeds and not self.over_classes:
            return math.nan
        by_seed = by_class = 0.0
        if self.over_seeds:
            by_seed = stdtrit(self.seeds - 1, error / 2) ** 2 * self.by_seed
        if not self.over_classes:
            return math.sqrt(by_seed)
        by_class = stdtrit(max(1.0, self.classes - 1), error / 2) ** 2 * self.by_class
        alone = by_seed * max(0.0, 1 - self.by_both / self.by_seed) if by_seed else 0.0
        return math.sqrt(max(by_seed, by_class + alone))

    def spreads(self, mean: float) -> bool:
        """Return whether there is a spread to judge the mean by, rather than none but that of rounding."""
        half = self.half_width()
        return math.isfinite(half) and (half > _ROUNDING * abs(mean) or half == mean == 0)

    def p_value(self, mean: float) -> float:
        """Return the smallest error at which the interval around ``mean`` holds 0 no longer; NaN where there is no
        spread.

        Values below 1e-12 are given as 1e-12.
        """
        if mean == 0:
            return 1.0
        if not self.spreads(mean):
            return math.nan

        def beyond(exponent: float) -> float:
            return self.half_width(math.exp(exponent)) - abs(mean)

        least = math.log(_LEAST_P)
        if not math.isfinite(beyond(least)):
            return math.nan
        return _LEAST_P if beyond(least) < 0 else math.exp(brentq(beyond, least, 0.0))


def holm(p_values: list[float]) -> list[float]:
    """Adjust p values for several comparisons: Holm, Scandinavian Journal of Statistics 1979. NaN stays NaN.

    The i-th smallest of m is multiplied by m - i + 1, is at least as large as those before it, and at most 1.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    adjusted, largest = list(p_values), 0.0
    for rank, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[index] = largest
    return adjusted
