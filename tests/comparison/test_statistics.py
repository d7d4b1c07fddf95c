"""Intervals, p values, Holm's correction and the power of a test against plain loops, scipy and simulations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from tests.comparison.world import METRIC, SCENARIOS, cells, class_sizes, differences
from trainers.comparison import Cell, compare
from trainers.comparison.estimate import MOST, POWER, Classes, Uncertainty, estimate, holm, seeds_needed
from trainers.metrics.bootstrap import class_resamples


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


def draws(classes: int, resamples: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, classes, (resamples, classes))


@pytest.mark.parametrize("unequal", [False, True])
def test_the_bootstrap_over_classes_is_that_of_loops(unequal: bool) -> None:
    rng = np.random.default_rng(3)
    sizes = class_sizes(6, 4, unequal, rng)
    labels = rng.permutation(np.repeat([7, 3, 20, 1, 5, 9], sizes))
    values = rng.normal(size=(2, len(labels)))
    table = Classes.of(values, labels)
    got = class_resamples(table.sums, table.counts, 50)
    for row, column in zip(values, got.T, strict=True):
        assert column == pytest.approx(resampled_means(list(row), list(labels), draws(6, 50)), abs=1e-12)
    assert np.array_equal(got, class_resamples(table.sums, table.counts, 50))


def test_blocks_of_resamples_are_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, counts = np.random.default_rng(0).normal(size=(9, 2)), np.arange(1.0, 10.0)
    whole = class_resamples(sums, counts, 40)
    monkeypatch.setattr("trainers.metrics.bootstrap._CELLS", 9 * 7)
    assert class_resamples(sums, counts, 40) == pytest.approx(whole, abs=1e-12)
    monkeypatch.setattr("trainers.metrics.bootstrap._KEPT", 0)
    assert class_resamples(sums, counts, 40) == pytest.approx(whole, abs=1e-12)


def test_the_standard_error_is_that_of_scipy_and_of_the_formula() -> None:
    rng = np.random.default_rng(4)
    sizes = class_sizes(40, 6, True, rng)
    labels = np.repeat(np.arange(40), sizes)
    (values,) = differences(SCENARIOS["classes"], 1, sizes, rng)
    table = Classes.of(values[None], labels)
    got = table.resamples.std(ddof=1)

    def mean(places: np.ndarray, axis: int) -> np.ndarray:
        return table.sums[places, 0].sum(axis) / table.counts[places].sum(axis)

    found = stats.bootstrap((np.arange(40),), mean, n_resamples=4000, method="percentile", rng=1)
    assert got == pytest.approx(found.standard_error, rel=0.05)
    assert got == pytest.approx(math.sqrt(linear_variance(list(values), list(labels))), rel=0.1)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_intervals_are_those_of_loops(monkeypatch: pytest.MonkeyPatch, scenario: str, seeds: int) -> None:
    monkeypatch.setattr(class_resamples, "__defaults__", (60,))
    rng = np.random.default_rng(seeds)
    sizes = class_sizes(7, 3, True, rng)
    labels = np.repeat(np.arange(7), sizes)
    values = differences(SCENARIOS[scenario], seeds, sizes, rng).astype(np.float32).astype(np.float64)
    (group,) = compare(cells(values, labels), METRIC).groups
    got = group.rows[0].estimate
    slow = interval(values, list(labels), draws(7, 60))
    assert (got.low, got.high) == pytest.approx(slow, rel=1e-9)
    assert got.mean == pytest.approx(values.mean()) and got.seeds == tuple(range(seeds))
    if seeds > 1:
        assert got.spread == pytest.approx(np.std(values.mean(1), ddof=1))
    # at its p value the interval ends at 0
    ends = interval(values, list(labels), draws(7, 60), got.p_value)
    assert min(map(abs, ends)) == pytest.approx(0, abs=1e-8)


def test_pairs_are_differences_seed_by_seed_and_query_by_query() -> None:
    rng = np.random.default_rng(5)
    sizes = class_sizes(12, 4, False, rng)
    labels = np.repeat(np.arange(12), sizes)
    shared = rng.normal(0, 5, (3, len(labels)))  # what both variants have in common does not widen the interval
    first, second = shared + 0.5, shared + rng.normal(0, 0.1, shared.shape)
    (group,) = compare([*cells(first, labels, "a"), *cells(second, labels, "b")], METRIC).groups
    (pair,) = group.pairs
    difference = first.astype(np.float32).astype(np.float64) - second.astype(np.float32).astype(np.float64)
    got = estimate(difference.mean(1), (0, 1, 2), Classes.of(difference, labels))
    assert (pair.difference.low, pair.difference.high) == pytest.approx((got.low, got.high), rel=1e-6)
    assert pair.verdict == "above" and pair.difference.low > 0
    assert group.rows[0].estimate.low < group.rows[1].estimate.mean  # alone they overlap


def test_without_queries_it_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(6)
    first, second = rng.normal(0.6, 0.02, 4), rng.normal(0.57, 0.02, 4)
    some = [
        Cell(variant=name, condition={}, seed=seed, metrics={METRIC: float(value)})
        for name, values in (("a", first), ("b", second))
        for seed, value in enumerate(values)
    ]
    ((group,),) = (compare(some, METRIC).groups,)
    (pair,) = group.pairs
    test = stats.ttest_rel(first, second)
    low, high = test.confidence_interval(0.95)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((low, high))
    assert pair.difference.p_value == pytest.approx(test.pvalue) and pair.adjusted == pair.difference.p_value
    assert "not other test classes" in pair.difference.covers


def test_the_shares_of_the_variance_are_those_of_the_analysis_of_variance() -> None:
    """With classes of equal size and no query effects the shares are the textbook's mean squares."""
    rng = np.random.default_rng(7)
    seeds, classes = 5, 60
    table = rng.normal(0, 0.5, (seeds, 1)) + rng.normal(0, 1, classes) + rng.normal(0, 0.7, (seeds, classes))
    got = Uncertainty.of(table.mean(1), Classes.of(table, np.arange(classes)))
    rest = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    both = (rest**2).sum() / ((seeds - 1) * (classes - 1))
    assert got.by_seed == pytest.approx(classes * table.mean(1).var(ddof=1) / (seeds * classes))
    assert got.by_class == pytest.approx(table.mean(0).var(ddof=1) / classes, rel=0.06)
    assert got.by_both == pytest.approx(both / (seeds * classes), rel=0.06)


def test_the_interval_is_never_narrower_than_that_of_one_source() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = differences(SCENARIOS["queries"], 3, np.full(8, 4), rng)
        whole = Uncertainty.of(values.mean(1), Classes.of(values, np.repeat(np.arange(8), 4)))
        assert whole.half_width() >= Uncertainty.of(values.mean(1), None).half_width()
        t = stats.t.ppf(0.975, 7)
        assert whole.half_width() >= t * math.sqrt(whole.by_class) * (1 - 1e-12)


def test_unequal_classes_count_for_fewer() -> None:
    equal, unequal = (Classes.of(np.ones((1, 20)), labels) for labels in (np.arange(20) // 5, np.arange(20) // 17))
    assert equal.effective == 4 and unequal.effective == pytest.approx(400 / (17**2 + 3**2))


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, math.nan, 0.9])[::2] == [1.0, 1.0] and math.isnan(holm([0.5, math.nan])[1]) and holm([]) == []
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = list(rng.random(6) ** 3)
        rejected: set[int] = set()  # the procedure as it is written: step down until one is not rejected
        for rank, place in enumerate(sorted(range(6), key=p.__getitem__)):
            if p[place] > 0.05 / (6 - rank):
                break
            rejected.add(place)
        assert {index for index, value in enumerate(holm(p)) if value <= 0.05} == rejected


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
