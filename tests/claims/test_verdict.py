"""The rule of the verdicts, on made-up numbers on both sides of every threshold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.claims.world import claim_of, result_of
from trainers.claims.base import Difference, Expected, Side
from trainers.claims.measured import (
    LACKING,
    NOT_RUN,
    NOT_SEEN,
    OPPOSITE,
    SEEN,
    Numbers,
    judge,
    measure,
    numbers,
    verdict,
)
from trainers.claims.results import read, standing, write
from trainers.comparison import Cell
from trainers.comparison.estimate import POWER, Estimate, Uncertainty, estimate, power, shown
from trainers.runs.records import QueryScores

EPS = 1e-9


def found(low: float, high: float, seeds: int = 4, wider: float = 0.0) -> Numbers:
    return Numbers(
        mean=(low + high) / 2,
        low=low,
        high=high,
        wide_low=low - wider,
        wide_high=high + wider,
        least=0.03,
        seeds=seeds,
    )


def difference(expected: Expected, margin: float) -> Difference:
    return Difference(metric="HAP", first=Side(arm="A"), second=Side(arm="B"), expected=expected, margin=margin)


@pytest.mark.parametrize(
    ("expected", "margin", "low", "high", "told"),
    [
        ("larger", 0.0, EPS, 0.1, SEEN),
        ("larger", 0.0, -EPS, 0.1, NOT_SEEN),
        ("larger", 0.0, 0.0, 0.1, NOT_SEEN),
        ("larger", 0.0, -0.1, EPS, NOT_SEEN),
        ("larger", 0.0, -0.1, -EPS, OPPOSITE),
        ("larger", 0.02, 0.02 + EPS, 0.1, SEEN),
        ("larger", 0.02, 0.02 - EPS, 0.1, NOT_SEEN),
        ("larger", 0.02, -0.1, -0.02 + EPS, NOT_SEEN),
        ("larger", 0.02, -0.1, -0.02 - EPS, OPPOSITE),
        ("equal", 0.02, -0.02 + EPS, 0.02 - EPS, SEEN),
        ("equal", 0.02, -0.02 - EPS, 0.01, NOT_SEEN),
        ("equal", 0.02, -0.01, 0.02 + EPS, NOT_SEEN),
        ("equal", 0.02, 0.02 - EPS, 0.1, NOT_SEEN),
        ("equal", 0.02, 0.02 + EPS, 0.1, OPPOSITE),
        ("equal", 0.02, -0.1, -0.02 + EPS, NOT_SEEN),
        ("equal", 0.02, -0.1, -0.02 - EPS, OPPOSITE),
        ("held", 0.02, -0.02 + EPS, 0.1, SEEN),
        ("held", 0.02, -0.02 - EPS, 0.1, NOT_SEEN),
        ("held", 0.02, -0.1, -0.02 + EPS, NOT_SEEN),
        ("held", 0.02, -0.1, -0.02 - EPS, OPPOSITE),
    ],
)
def test_both_sides_of_every_threshold(expected: Expected, margin: float, low: float, high: float, told: str) -> None:
    assert judge(found(low, high), expected, margin) == told


@pytest.mark.parametrize("expected", ["larger", "equal", "held"])
def test_two_seeds_show_nothing(expected: Expected) -> None:
    for low, high in ((0.001, 0.002), (0.5, 0.6), (-0.6, -0.5)):
        assert judge(found(low, high, seeds=2), expected, 0.02) == NOT_SEEN
    assert judge(found(0.5, 0.6, seeds=3), "larger", 0.02) == SEEN


def test_a_claim_is_seen_if_all_its_differences_are_and_opposite_if_one_is() -> None:
    two = [difference("larger", 0.0)] * 2
    yes, no, against = found(0.1, 0.2), found(-0.1, 0.1), found(-0.2, -0.1)
    assert verdict([yes, yes], two) == SEEN
    assert verdict([yes, no], two) == NOT_SEEN
    assert verdict([yes, against], two) == OPPOSITE
    assert verdict([], []) == NOT_SEEN


def test_an_opposite_is_judged_by_the_wider_interval_alone() -> None:
    assert judge(found(-0.2, -0.01, wider=0.02), "larger", 0.0) == NOT_SEEN
    assert judge(found(-0.2, -0.03, wider=0.02), "larger", 0.0) == OPPOSITE
    assert judge(found(0.01, 0.2, wider=0.02), "larger", 0.0) == SEEN


def of_seeds(*values: float) -> Estimate:
    return estimate(np.array(values), tuple(range(len(values))), None)


def test_the_interval_of_several_differences_has_their_share_of_the_error() -> None:
    one = of_seeds(0.01, 0.02, 0.03, 0.02)
    alone, of_three = (numbers(one, difference("larger", 0.0), parts) for parts in (1, 3))
    assert (alone.wide_low, alone.wide_high) == pytest.approx((one.low, one.high))
    assert of_three.wide_low < one.low and of_three.wide_high > one.high
    assert (of_three.low, of_three.high) == (one.low, one.high)
    assert of_three.wide_high - of_three.mean == pytest.approx(one.uncertainty.half_width(0.05 / 3))  # type: ignore[union-attr]


def test_the_power_is_that_of_the_comparison_and_stands_beyond_the_margin() -> None:
    one = of_seeds(0.01, 0.02, 0.03, 0.02)
    assert one.uncertainty is not None
    least = shown(one.uncertainty)
    assert power(least, one.uncertainty) == pytest.approx(POWER)
    assert power(least * 0.99, one.uncertainty) < POWER < power(least * 1.01, one.uncertainty)
    assert numbers(one, difference("larger", 0.05), 1).least == pytest.approx(least + 0.05)
    assert numbers(one, difference("held", 0.05), 1).least == pytest.approx(least)
    assert numbers(one, difference("equal", 0.05), 1).least > least
    assert math.isnan(shown(Uncertainty.of(np.array([0.3]), None)))


# ------------------------------------------------------- from results to numbers


def cells(gain: float, seeds: int = 4, queries: int = 60, noise: float = 0.01) -> list[Cell]:
    """Results of arms A and B at two conditions; A is above B by ``gain`` where x is 1, and equal where x is 0."""
    made = []
    labels = np.repeat(np.arange(12), queries // 12)
    for seed in range(seeds):
        draws = np.random.default_rng(seed)
        shared = 0.5 + draws.normal(0, 0.02) + np.random.default_rng(99).normal(0, 0.05, 12)[labels]
        for arm in "AB":
            for x in (0, 1):
                values = shared + gain * (arm == "A") * x + draws.normal(0, noise, queries)
                scores = QueryScores(
                    metrics=("HAP",),
                    values=values.astype(np.float32)[None, None],
                    labels=labels,
                    rows=np.arange(queries),
                    images=queries,
                    fingerprint="made up",
                )
                made.append(
                    Cell(
                        variant=arm,
                        condition={"x": x},
                        seed=seed,
                        metrics={"HAP": float(values.mean())},
                        queries=scores,
                    )
                )
    return made


def sides(x: int) -> tuple[Side, Side]:
    return Side(arm="A", under={"x": x}), Side(arm="B", under={"x": x})


def test_a_difference_is_that_of_the_comparison() -> None:
    from trainers.comparison import compare

    results = cells(0.1)
    claim = claim_of(Difference(metric="HAP", first=sides(1)[0], second=sides(1)[1]))
    (one,) = measure(claim, results)
    (group,) = (each for each in compare(results, "HAP").groups if each.condition == {"x": 1})
    pair = group.pairs[0].difference
    assert (one.numbers.mean, one.numbers.low, one.numbers.high) == pytest.approx((pair.mean, pair.low, pair.high))
    assert [side.mean for side in one.sides] == pytest.approx([row.estimate.mean for row in group.rows])
    assert [side.low for side in one.sides] == pytest.approx([row.estimate.low for row in group.rows])
    assert judge(one.numbers, "larger", 0.0) == SEEN and judge(one.numbers, "larger", 0.2) == NOT_SEEN


def test_a_difference_of_differences() -> None:
    first, second = sides(1)
    claim = claim_of(Difference(metric="HAP", first=first, second=second, beyond=sides(0)))
    (one,) = measure(claim, cells(0.1))
    assert one.numbers.mean == pytest.approx(0.1, abs=0.01) and judge(one.numbers, "larger", 0.0) == SEEN
    assert one.title == "(A, x 1 − B, x 1) − (A, x 0 − B, x 0)" and not one.covers
    (none,) = measure(claim, cells(0.0))
    assert judge(none.numbers, "larger", 0.0) == NOT_SEEN
    (against,) = measure(claim, cells(-0.1))
    assert judge(against.numbers, "larger", 0.0) == OPPOSITE


def test_a_relative_difference_divides() -> None:
    values = {("A", 0): 0.3, ("B", 0): 0.2, ("A", 1): 0.9, ("B", 1): 0.8}  # half more, and an eighth more
    results = [
        Cell(variant=arm, condition={"x": x}, seed=seed, metrics={"HAP": value * (1 + seed)})
        for (arm, x), value in values.items()
        for seed in range(4)
    ]
    first, second = sides(0)
    alone, beyond = Difference(metric="HAP", first=first, second=second, relative=True), sides(1)
    (one,) = measure(claim_of(alone), results)
    assert one.numbers.mean == pytest.approx(0.5) and one.title == "A, x 0 / B, x 0"
    (one,) = measure(claim_of(replace(alone, beyond=beyond)), results)
    assert one.numbers.mean == pytest.approx(0.375) and one.title == "(A, x 0 / B, x 0) − (A, x 1 / B, x 1)"
    nothing = [
        replace(cell, metrics={"HAP": 0.0}) if cell.variant == "B" and cell.seed == 2 else cell for cell in results
    ]
    (one,) = measure(claim_of(alone), nothing)
    assert one.numbers.seeds == 3  # a gain over nothing is no number


def test_a_seed_without_a_result_on_one_side_is_left_out() -> None:
    results = [
        replace(cell, metrics={}, queries=None) if cell.seed == 3 and cell.variant == "B" else cell
        for cell in cells(0.1)
    ]
    (one,) = measure(claim_of(Difference(metric="HAP", first=sides(1)[0], second=sides(1)[1])), results)
    assert one.numbers.seeds == 3 and sorted(one.sides[0].values) == [0, 1, 2, 3]
    lost = [replace(cell, metrics={}, queries=None) if cell.variant == "B" else cell for cell in cells(0.1)]
    (none,) = measure(claim_of(Difference(metric="HAP", first=sides(1)[0], second=sides(1)[1])), lost)
    assert none.numbers.seeds == 0 and judge(none.numbers, "larger", 0.0) == NOT_SEEN


# ------------------------------------------------------------------- as it stands


def test_a_result_is_read_as_it_was_written(tmp_path) -> None:
    claim = claim_of(Difference(metric="HAP", first=sides(1)[0], second=sides(1)[1]))
    result = result_of(claim, cells(0.1))
    assert standing(claim, read(claim, tmp_path)) == NOT_RUN
    write(result, tmp_path)
    again = read(claim, tmp_path)
    assert again is not None and standing(claim, again) == SEEN
    assert again.measured[0].numbers.low == pytest.approx(result.measured[0].numbers.low, abs=1e-6)
    assert again.measured[0].sides[0].values == pytest.approx(result.measured[0].sides[0].values, abs=1e-6)
    assert standing(replace(claim, plan=None), None) == LACKING


def test_a_result_of_other_differences_is_none(tmp_path) -> None:
    claim = claim_of(Difference(metric="HAP", first=sides(1)[0], second=sides(1)[1]))
    write(result_of(claim, cells(0.1)), tmp_path)
    other = replace(claim, differences=(replace(claim.differences[0], metric="ASI"),))
    assert read(other, tmp_path) is None
