"""The rule that makes a verdict of numbers, fixed before there were any; its statistics are ``trainers.comparison``'s.

A difference with the 95 % interval [low, high] and the margin m is, where the first side is claimed to be

- ``larger``: seen if low > m, opposite if high < -m;
- ``equal``: seen if -m < low and high < m, opposite if low > m or high < -m;
- ``held``: seen if low > -m, opposite if high < -m.

Otherwise it is not seen. A claim is *seen* if every one of its differences is; the *opposite* is seen if one difference
is opposite by the interval whose error is 5 % over the number of differences. Below :data:`LEAST_SEEDS` seeds with
results on every side nothing is seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trainers.claims.base import Difference, Expected
from trainers.comparison.estimate import LEVEL, POWER, Estimate, shown

LEAST_SEEDS = 3
SEEN, NOT_SEEN, OPPOSITE = "seen", "not seen at this scale", "opposite seen"
LACKING, NOT_RUN = "needs data or weights not at hand", "not run yet"
VERDICTS = (SEEN, NOT_SEEN, OPPOSITE, LACKING, NOT_RUN)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of a difference that the rule reads, all in the metric's unit; NaN: unknown.

    Attributes:
        low, high: the 95 % interval of the mean.
        wide_low, wide_high: the interval whose error is shared by all differences of the claim.
        least: the smallest true difference that these seeds would have shown with a chance of 80 %, beyond the margin
            where the claim is of one; where it is of none, the smallest margin.
        seeds: with results on every side.
    """

    mean: float
    low: float
    high: float
    wide_low: float
    wide_high: float
    least: float
    seeds: int


def numbers(estimate: Estimate, difference: Difference, parts: int) -> Numbers:
    """Read the numbers of the rule from an estimate.

    Args:
        parts: how many differences decide the claim.
    """
    known, nan = estimate.uncertainty, math.nan
    half = nan if known is None or not estimate.known else known.half_width((1 - LEVEL) / parts)
    chance = (1 + POWER) / 2 if difference.expected == "equal" else POWER  # both ends must stay within the margin
    least = nan if known is None else shown(known, chance)
    return Numbers(
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        wide_low=estimate.mean - half,
        wide_high=estimate.mean + half,
        least=least + difference.margin if difference.expected == "larger" else least,
        seeds=len(estimate.seeds),
    )


def judge(measured: Numbers, expected: Expected, margin: float) -> str:
    """Return the verdict on one difference: :data:`SEEN`, :data:`NOT_SEEN` or :data:`OPPOSITE`."""
    if measured.seeds < LEAST_SEEDS:
        return NOT_SEEN
    if {
        "larger": measured.low > margin,
        "equal": measured.low > -margin and measured.high < margin,
        "held": measured.low > -margin,
    }[expected]:
        return SEEN
    above = expected == "equal" and measured.wide_low > margin
    return OPPOSITE if above or measured.wide_high < -margin else NOT_SEEN


def verdict(measured: Sequence[Numbers], differences: Sequence[Difference]) -> str:
    """Return the verdict on a claim from the numbers of its differences."""
    verdicts = [
        judge(judged, difference.expected, difference.margin)
        for judged, difference in zip(measured, differences, strict=True)
    ]
    if OPPOSITE in verdicts:
        return OPPOSITE
    return SEEN if verdicts and all(judged == SEEN for judged in verdicts) else NOT_SEEN
