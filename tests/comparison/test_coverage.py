"""How often the intervals hold the true mean, by simulation; tests/benchmarks/intervals.py prints more of it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.comparison.world import SCENARIOS, class_sizes, differences
from trainers.comparison.estimate import estimate
from trainers.comparison.uncertainty import Classes


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("scenario", ["seeds", "classes", "all alike"])
def test_nineteen_of_twenty_intervals_hold_the_mean(scenario: str, seeds: int) -> None:
    rng, hits, times = np.random.default_rng(seeds), 0, 500
    for _ in range(times):
        sizes = class_sizes(20, 5, True, rng)
        values = differences(SCENARIOS[scenario], seeds, sizes, rng)
        table = Classes.of(values, np.repeat(np.arange(20), sizes))
        got = estimate(values.mean(1), tuple(range(seeds)), table)
        hits += got.low <= 0 <= got.high
    assert 0.92 <= hits / times <= 0.99
