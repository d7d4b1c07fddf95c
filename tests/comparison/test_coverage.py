"""How often the intervals hold the true mean, by simulation; tests/benchmarks/intervals.py prints more of it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.comparison.world import SCENARIOS, class_sizes, differences
from trainers.comparison.estimate import Classes, Uncertainty
from trainers.metrics.bootstrap import class_resamples


@pytest.mark.parametrize("seeds", [3, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize("scenario", ["seeds", "classes", "all alike"])
def test_nineteen_of_twenty_intervals_hold_the_mean(monkeypatch: pytest.MonkeyPatch, scenario: str, seeds: int) -> None:
    monkeypatch.setattr(class_resamples, "__defaults__", (1000,))
    rng, hits, times = np.random.default_rng(seeds), 0, 1000
    for _ in range(times):
        sizes = class_sizes(20, 5, True, rng)
        values = differences(SCENARIOS[scenario], seeds, sizes, rng)
        got = Uncertainty.of(values.mean(1), Classes.of(values, np.repeat(np.arange(20), sizes)))
        hits += abs(values.mean()) <= got.half_width()
    assert 0.925 <= hits / times <= 0.985
