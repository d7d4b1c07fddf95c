"""A number of a comparison: which runs it is of, mean, interval and verdict; how many seeds would show a difference."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trainers.errors import UserError
from trainers.metrics.bootstrap import class_resamples
from trainers.runs.records import QueryScores

Condition = Mapping[str, float | int | str]
"""The conditions of a training, by name: ``{"noise": 0.2, "batch": 64}``."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The result that one arm of one run ended with.

    Attributes:
        variant: what is compared, as printed: a loss with its parameters.
        condition: what it was trained under; variants are compared within a condition.
        seed: of the training. Variants with the same seed saw the same batches, so their results are paired.
        metrics: means over the whole test set by metric name; empty for a run that failed.
        queries: the same results query by query, of this arm alone; None: not kept.
    """

    variant: str
    condition: Condition
    seed: int
    metrics: Mapping[str, float]
    queries: QueryScores | None = None

    def value(self, metric: str) -> float | None:
        """Return the mean of a metric; None where it is missing or not finite, as of a run that failed."""
        value = self.metrics.get(metric)
        return float(value) if value is not None and math.isfinite(value) else None


def check(cells: Sequence[Cell]) -> None:
    """Refuse what cannot be compared.

    Raises:
        UserError: two cells have the same variant, condition and seed, or results per query are of several arms.
    """
    seen: set[object] = set()
    for cell in cells:
        key = (cell.variant, condition_key(cell.condition), cell.seed)
        if key in seen:
            under = "".join(f", {name} {value}" for name, value in cell.condition.items())
            raise UserError(
                f"One result for each variant, condition and seed was needed; got two of {cell.variant[:80]}, "
                f"seed {cell.seed}{under}. Leave one out."
            )
        seen.add(key)
        if cell.queries is not None and len(cell.queries.values) != 1:
            raise UserError(
                f"The results per query of one arm were needed; got those of {len(cell.queries.values)}. "
                "Choose an arm with of(arm)."
            )


def condition_key(condition: Condition) -> frozenset[tuple[str, float | int | str]]:
    """Return a condition as a key, whatever the order of its names."""
    return frozenset(condition.items())


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
        test_classes, queries: how many of the test set there are results of; 0: not known.
    """

    seeds: int
    by_seed: float
    by_class: float
    by_both: float
    classes: float
    test_classes: int = 0
    queries: int = 0

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
        counted = {"test_classes": len(classes.counts), "queries": int(classes.counts.sum())}
        return cls(seeds=seeds, by_seed=by_seed, by_class=by_class, by_both=both, classes=effective, **counted)

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
        from scipy.special import stdtrit  # here and below late: the page starts without

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

        from scipy.optimize import brentq

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


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean, or a mean difference.

    Attributes:
        mean: over the seeds; NaN without any.
        spread: standard deviation over the seeds; NaN for fewer than two.
        low, high: the 95 % interval of the mean; NaN where there is nothing to judge it by.
        p_value: of a mean of 0; NaN as the interval.
        seeds: those that it is over.
        covers: one sentence on what the interval covers; empty: other seeds and other test classes.
        uncertainty: that the interval is made of; None without any seed.
    """

    mean: float
    spread: float
    low: float
    high: float
    p_value: float
    seeds: tuple[int, ...]
    covers: str
    uncertainty: Uncertainty | None = field(default=None, repr=False, compare=False)

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)


def estimate(values: np.ndarray, seeds: tuple[int, ...], classes: Classes | None, *, apart: bool = False) -> Estimate:
    """Estimate from the mean of each seed, float64 ``[S]``, and the results per class of the same seeds, None: unknown.

    Args:
        apart: every seed has test images of its own, so its mean also varies with them.
    """
    if not seeds:
        nan = math.nan
        return Estimate(mean=nan, spread=nan, low=nan, high=nan, p_value=nan, seeds=(), covers="No run has a result.")
    uncertainty, mean = Uncertainty.of(values, classes), float(values.mean())
    half = uncertainty.half_width() if uncertainty.spreads(mean) else math.nan
    return Estimate(
        mean=mean,
        spread=float(values.std(ddof=1)) if len(seeds) > 1 else math.nan,
        low=mean - half,
        high=mean + half,
        p_value=uncertainty.p_value(mean),
        seeds=seeds,
        covers=_covers(uncertainty, classes, math.isnan(half), apart),
        uncertainty=uncertainty,
    )


def _covers(uncertainty: Uncertainty, classes: Classes | None, unknown: bool, apart: bool) -> str:
    queries = "the runs have no results per query in common" if classes is None else "the test set has one class"
    if uncertainty.over_seeds and uncertainty.over_classes:
        return "No interval: seeds and test classes all give the same number." if unknown else ""
    if uncertainty.over_classes:
        if unknown:
            return "No interval: there is one seed, and every test class gives the same number."
        return "One seed: the interval covers other test classes, not other trainings."
    if not uncertainty.over_seeds:
        return f"No interval: there is one seed, and {queries}."
    if unknown:
        return f"No interval: every seed gives the same number, and {queries}."
    if apart and classes is None:
        return "Each seed has test images of its own: the interval covers other trainings, each on other test images."
    return f"The interval covers other trainings, not other test classes: {queries}."


POWER = 0.8
"""Chance with which a difference shall be seen."""
MOST = 100
"""Seeds that are considered."""


def seeds_needed(mean: float, uncertainty: Uncertainty, pairs: int = 1) -> int | None:
    """Return the fewest seeds that show a true difference of ``mean`` with a chance of :data:`POWER`.

    The spread over seeds and classes is taken to stay as it was measured. See ``docs/statistics.md``.

    Args:
        pairs: that are judged together; each has its share of the error, a little less than Holm's method gives it.

    Returns:
        None: it is not known, from one seed; above :data:`MOST`: no number up to that.
    """
    if not uncertainty.over_seeds or not math.isfinite(mean):
        return None
    error = (1 - LEVEL) / max(1, pairs)
    return 2 + bisect_left(
        range(2, MOST + 1), POWER, key=lambda seeds: power(mean, projected(uncertainty, seeds), error)
    )


def power(mean: float, uncertainty: Uncertainty, error: float = 1 - LEVEL) -> float:
    """Return the chance that a true difference of ``mean`` is seen at an error of ``error``.

    The estimate over its standard error is taken to have a noncentral t distribution with S - 1 degrees of freedom;
    with seeds alone this is the power of the paired t test.
    """
    from scipy.special import nctdtr

    spread = uncertainty.standard_error
    if spread == 0:
        return 1.0 if mean else 0.0
    chance = 1 - nctdtr(uncertainty.seeds - 1, abs(mean) / spread, uncertainty.half_width(error) / spread)
    return float(chance) if math.isfinite(chance) else 1.0  # scipy overflows where the difference is enormous


def projected(uncertainty: Uncertainty, seeds: int) -> Uncertainty:
    """Return the uncertainty that as many seeds would leave: what varies with the seed shrinks, the classes stay."""
    share = uncertainty.seeds / seeds
    shrunk = replace(uncertainty, seeds=seeds, by_seed=uncertainty.by_seed * share)
    if not uncertainty.over_classes:
        return shrunk
    both = min(uncertainty.by_both, uncertainty.by_class)
    return replace(shrunk, by_both=uncertainty.by_both * share, by_class=uncertainty.by_class - both + both * share)


def shown(uncertainty: Uncertainty, chance: float = POWER) -> float:
    """Return the smallest true difference that as many seeds would show with a chance of ``chance``; NaN: unknown."""
    if not uncertainty.over_seeds or not math.isfinite(half := uncertainty.half_width()):
        return math.nan
    if half == 0:
        return 0.0
    from scipy.optimize import brentq

    return float(brentq(lambda mean: power(mean, uncertainty) - chance, 0.0, 100 * half))


@dataclass(frozen=True, kw_only=True)
class PairedQueries:
    """Results of several runs on the same queries, grouped by class.

    Attributes:
        places: column of ``table`` by variant and seed; runs without results on these queries have none.
        table: a column per run; None: there are no such runs.
        apart: every run has results per query, if not in this metric, and runs of different seeds are on different test
            images.
    """

    places: Mapping[tuple[str, int], int]
    table: Classes | None
    apart: bool = False

    @classmethod
    def of(cls, cells: Sequence[Cell], metric: str) -> PairedQueries:
        """Select from cells under one condition the largest set of runs on the same test images and classes.

        Queries for which the metric is undefined in any of these runs are left out; as a rule these are the queries
        without a positive, the same ones in each run.
        """
        sets: list[list[tuple[Cell, QueryScores]]] = []
        having = [cell for cell in cells if cell.value(metric) is not None]
        for cell, queries in ((cell, cell.queries) for cell in having if cell.queries is not None):
            for some in sets:
                if _same_queries(some[0][1], queries):
                    some.append((cell, queries))
                    break
            else:
                sets.append([(cell, queries)])
        seeds = [{cell.seed for cell, _ in some} for some in sets]
        every = sum(map(len, sets)) == len(having)
        apart = every and len(set().union(*seeds)) == len(sets) > 1 and all(len(of_set) == 1 for of_set in seeds)
        known = [[(cell, scores) for cell, scores in some if metric in scores.metrics] for some in sets]
        largest = max(known, key=len, default=[])
        if not largest:
            return cls(places={}, table=None, apart=apart)
        values = np.stack([scores.values[0, scores.metrics.index(metric)] for _, scores in largest])
        defined = np.isfinite(values).all(0)
        if not defined.any():
            return cls(places={}, table=None, apart=apart)
        places = {(cell.variant, cell.seed): row for row, (cell, _) in enumerate(largest)}
        labels = largest[0][1].labels
        return cls(places=places, table=Classes.of(values[:, defined].astype(np.float64), labels[defined]), apart=apart)

    def classes(self, seeds: Sequence[int], first: str, second: str | None = None) -> Classes | None:
        """Return the results of a variant in these seeds, minus those of a second one; None: a run lacks them."""
        if self.table is None or not seeds:
            return None
        columns = []
        for variant in (first,) if second is None else (first, second):
            rows = [self.places.get((variant, seed)) for seed in seeds]
            if None in rows:
                return None
            columns.append(self.table.columns(np.array(rows)))
        return columns[0] if second is None else columns[0].minus(columns[1])


def _same_queries(first: QueryScores, second: QueryScores) -> bool:
    """Return whether two runs were scored on the same images, of the same classes; ids of classes may differ."""
    if first.fingerprint != second.fingerprint or not np.array_equal(first.rows, second.rows):
        return False
    return bool(np.array_equal(_by_first(first.labels), _by_first(second.labels)))


def _by_first(labels: np.ndarray) -> np.ndarray:
    """Return the index of the first query of each query's class: equal for labels that divide the queries alike."""
    _, first, compact = np.unique(labels, return_index=True, return_inverse=True)
    return first[compact]
