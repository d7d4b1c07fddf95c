"""One seed, one class, missing and diverged runs, equal results: a plain sentence, and never an error."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest

from tests.comparison.world import METRIC, cells, scores
from trainers.comparison import Cell, Group, compare, table
from trainers.errors import UserError

LABELS = np.repeat(np.arange(6), 4)


def results(seeds: int, mean: float = 0.5, seed: int = 0, labels: np.ndarray = LABELS) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, 0.1, (seeds, len(labels)))


def group(some: list[Cell]) -> Group:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (only,) = compare(some, METRIC).groups
        for text in (table(some, [METRIC]).markdown(), table(some, [METRIC]).latex(), table(some, [METRIC]).csv()):
            assert "nan" not in text
    return only


def without_queries(some: list[Cell]) -> list[Cell]:
    return [dataclasses.replace(cell, queries=None) for cell in some]


def test_one_seed_is_judged_over_classes_alone() -> None:
    found = group([*cells(results(1, 0.9), LABELS, "a"), *cells(results(1, 0.1, 1), LABELS, "b")])
    (pair,) = found.pairs
    assert pair.verdict == "above" and math.isnan(pair.difference.spread)
    assert pair.difference.covers == "One seed: the interval covers other test classes, not other trainings."


def test_one_seed_without_queries_has_no_verdict() -> None:
    some = [*cells(results(1, 0.9), LABELS, "a"), *cells(results(1, 0.1, 1), LABELS, "b")]
    (pair,) = group(without_queries(some)).pairs
    assert pair.verdict == "unknown" and math.isnan(pair.adjusted) and not pair.difference.known
    assert (
        "a and b cannot be compared: no interval: there is one seed"
        in table(without_queries(some), [METRIC]).markdown()
    )


@pytest.mark.parametrize("seeds", [1, 3])
def test_one_class(seeds: int) -> None:
    labels = np.zeros(24, int)
    (pair,) = group([*cells(results(seeds, 0.9), labels, "a"), *cells(results(seeds, 0.1, 1), labels, "b")]).pairs
    assert "the test set has one class" in pair.difference.covers
    assert pair.verdict == ("unknown" if seeds == 1 else "above")


def test_all_equal_is_no_difference() -> None:
    same = results(3)
    found = group([*cells(same, LABELS, "a"), *cells(same, LABELS, "b")])
    (pair,) = found.pairs
    assert (pair.difference.low, pair.difference.mean, pair.difference.high) == (0, 0, 0)
    assert pair.verdict == "could be chance" and pair.adjusted == 1 and found.leader("up") is None


@pytest.mark.parametrize("known", [True, False])
def test_a_difference_without_any_spread_is_not_certainty(known: bool) -> None:
    some = [*cells(np.full((2, 24), 0.3), LABELS, "a"), *cells(np.full((2, 24), 0.1), LABELS, "b")]
    (pair,) = group(some if known else without_queries(some)).pairs
    assert pair.verdict == "unknown" and pair.difference.mean == pytest.approx(0.2)
    assert pair.difference.covers.startswith("No interval: ")


def test_a_missing_seed_is_left_out_of_its_pairs_and_named() -> None:
    first, second = cells(results(3, 0.9), LABELS, "a"), cells(results(3, 0.1, 1), LABELS, "b")
    second[1] = dataclasses.replace(second[1], metrics={})
    diverged = [*first, *second[:2], dataclasses.replace(second[2], metrics={METRIC: math.nan})]
    found = group(diverged)
    assert [row.missing for row in found.rows] == [(), (1, 2)]
    assert found.pairs[0].difference.seeds == (0,) and found.rows[0].estimate.seeds == (0, 1, 2)
    assert "b: no result of seeds 1, 2." in table(diverged, [METRIC]).notes()
    assert len(table(diverged, [METRIC]).notes()) == 2


def test_a_variant_that_always_failed() -> None:
    failed = [Cell(variant="b", condition={}, seed=seed, metrics={}) for seed in range(3)]
    found = group([*cells(results(3, 0.9), LABELS, "a"), *failed])
    (pair,) = found.pairs
    assert pair.verdict == "unknown" and found.rows[1].estimate.covers == "No run has a result."
    assert pair.difference.covers == "No seed has a result of both." and found.leader("up") is None
    assert group(failed).rows[0].missing == ()


def test_queries_without_a_positive_are_left_out() -> None:
    values = [results(3, 0.6), results(3, 0.5, 1)]
    holes = [value.copy() for value in values]
    for one in holes:
        one[:, 3] = np.nan
    kept = np.arange(24) != 3
    pairs = [
        group([*cells(one[:, rows], LABELS[rows], "a"), *cells(other[:, rows], LABELS[rows], "b")]).pairs[0]
        for (one, other), rows in ((holes, slice(None)), (values, kept))
    ]
    assert pairs[0].difference.low == pytest.approx(pairs[1].difference.low)
    nothing = np.full((3, 24), np.nan)
    some = [dataclasses.replace(cell, metrics={METRIC: 0.5}) for cell in cells(results(3), LABELS, "a")]
    some = [dataclasses.replace(cell, queries=scores(nothing[0], LABELS)) for cell in some]
    assert "no results per query" in group(some).rows[0].estimate.covers


def test_other_test_images_are_not_paired_but_other_ids_of_the_same_classes_are() -> None:
    first, second = cells(results(3, 0.9), LABELS, "a"), cells(results(3, 0.1, 1), LABELS, "b")
    renamed = [dataclasses.replace(cell, queries=scores(cell.queries.values[0, 0], 9 - LABELS)) for cell in second]
    other = [dataclasses.replace(cell, queries=scores(cell.queries.values[0, 0], LABELS, "x")) for cell in second]
    divided = [dataclasses.replace(cell, queries=scores(cell.queries.values[0, 0], LABELS // 2)) for cell in second]
    assert group([*first, *renamed]).pairs[0].difference.covers == ""
    for some in (other, divided):
        found = group([*first, *some])
        assert "not other test classes" in found.pairs[0].difference.covers
        assert found.rows[0].estimate.covers == ""


def test_where_each_seed_has_test_images_of_its_own_the_interval_says_so() -> None:
    own = [
        dataclasses.replace(cell, queries=scores(cell.queries.values[0, 0], LABELS, f"images {cell.seed}"))
        for cell in [*cells(results(3, 0.9), LABELS, "a"), *cells(results(3, 0.1, 1), LABELS, "b")]
    ]
    found = group(own)
    for estimate in (found.rows[0].estimate, found.pairs[0].difference):
        assert estimate.covers.startswith("Each seed has test images of its own") and estimate.known
    means = [dataclasses.replace(cell, metrics={"of means": cell.metrics[METRIC]}) for cell in own]
    estimate = compare(means, "of means").groups[0].rows[0].estimate
    assert estimate.covers.startswith("Each seed has test images of its own") and estimate.known
    some = [dataclasses.replace(cell, queries=None) if cell.seed else cell for cell in own]
    assert "not other test classes" in group(some).rows[0].estimate.covers


def test_nothing_to_compare() -> None:
    assert compare([], METRIC).groups == () and group(cells(results(2), LABELS)).pairs == ()
    assert table([], [METRIC]).lines == () and table([], []).lines == ()
    assert "| variant | R@1" in table([], [METRIC]).markdown()


def test_what_cannot_be_compared_is_refused() -> None:
    (cell,) = cells(results(1), LABELS)
    with pytest.raises(UserError, match="got two of a, seed 0"):
        compare([cell, cell], METRIC)
    both = dataclasses.replace(cell.queries, values=np.zeros((2, 1, 24), np.float32))
    with pytest.raises(UserError, match=r"got those of 2\. Choose an arm"):
        compare([dataclasses.replace(cell, queries=both)], METRIC)
    compare([dataclasses.replace(cell, queries=both.of(1))], METRIC)
