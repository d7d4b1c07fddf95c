"""How many seeds are needed, against t tests of simulated experiments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trainers.comparison.estimate import MOST, POWER, Classes, Uncertainty, seeds_needed


def share_seen(mean: float, spread: float, seeds: int, error: float) -> float:
    """Share of 20,000 experiments in which scipy's t test sees the difference."""
    drawn = np.random.default_rng(seeds).normal(mean, spread, (20_000, seeds))
    return float((stats.ttest_1samp(drawn, 0, axis=1).pvalue < error).mean())


@pytest.mark.parametrize(("ratio", "pairs"), [(0.3, 1), (0.6, 1), (1.0, 3), (1.5, 10), (4.0, 1)])
def test_as_many_seeds_show_the_difference_and_fewer_do_not(ratio: float, pairs: int) -> None:
    values = np.array([-1.0, 0.0, 1.0])  # their spread is 1
    needed = seeds_needed(ratio, Uncertainty.of(values, None), pairs)
    assert needed is not None
    assert share_seen(ratio, 1.0, needed, 0.05 / pairs) > POWER - 0.01
    if needed > 2:
        assert share_seen(ratio, 1.0, needed - 1, 0.05 / pairs) < POWER + 0.01


def test_more_seeds_do_not_replace_test_classes() -> None:
    """The gain is in half of the classes: seeds agree, and other classes might say otherwise."""
    labels, rng = np.repeat(np.arange(6), 4), np.random.default_rng(0)
    gains = np.where(labels % 2, 0.4, -0.3) + rng.normal(0, 0.02, (3, 1)) + rng.normal(0, 0.02, (3, len(labels)))
    means = gains.mean(axis=1)
    alone = seeds_needed(0.05, Uncertainty.of(means, None))
    with_classes = seeds_needed(0.05, Uncertainty.of(means, Classes.of(gains, labels)))
    assert alone is not None and alone <= 10 and with_classes == MOST + 1


def test_one_seed_says_nothing_of_others() -> None:
    assert seeds_needed(1.0, Uncertainty.of(np.array([1.0]), None)) is None
