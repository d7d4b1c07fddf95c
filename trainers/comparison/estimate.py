"""A mean over seeds with its spread, its interval and, in words, what the interval covers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trainers.comparison.uncertainty import Classes, Uncertainty


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
