"""How many seeds would show a difference: the power of the paired t test, beside the variance of the test classes."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace

from scipy.optimize import brentq
from scipy.special import nctdtr

from trainers.comparison.uncertainty import LEVEL, Uncertainty

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
    return float(brentq(lambda mean: power(mean, uncertainty) - chance, 0.0, 100 * half))
