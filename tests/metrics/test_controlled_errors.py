"""Mistakes put into a perfect ranking: the rankings, the values against the definitions, what AP does not see."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tests.metrics import slow
from trainers.metrics.controlled_errors import (
    LEVELS,
    METRICS,
    MISTAKES,
    RANKS,
    RELATED,
    UNRELATED,
    Case,
    cases,
    ranking,
)

DEPTHS = pytest.mark.parametrize("depth", [1, 2, len(LEVELS)])


def of(mistakes: int, rank: int, depth: int) -> list[Case]:
    """One case per severity, the worst first."""
    shown = [one for one in cases(depth) if (one.mistakes, one.rank) == (mistakes, rank)]
    return sorted(shown, key=lambda one: one.shared)


@DEPTHS
def test_a_ranking_has_its_mistakes_where_it_says_and_is_perfect_besides(depth: int) -> None:
    assert ranking(1, 2, 3, 3)[:10] == [3, 3, 1, 1, 3, 3, 3, 3, 3, 3]
    for one in cases(depth):
        assert Counter(one.ranking) == {0: UNRELATED} | dict.fromkeys(range(1, depth + 1), RELATED)
        begin = one.rank - 1
        moved, rest = one.ranking[begin : begin + one.mistakes], list(one.ranking)
        del rest[begin : begin + one.mistakes]
        assert set(moved) <= {one.shared}
        assert rest == sorted(rest, reverse=True)


@DEPTHS
def test_values_are_those_of_the_definitions(depth: int) -> None:
    for one in cases(depth):
        wanted = [slow.score(name, list(one.ranking), depth) for name in METRICS]
        assert one.values == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("rank", range(1, RANKS + 1))
@pytest.mark.parametrize("mistakes", range(1, MISTAKES + 1))
def test_ap_does_not_see_the_severity_and_the_others_do(mistakes: int, rank: int) -> None:
    values = (one.values for one in of(mistakes, rank, len(LEVELS)))
    by_metric = dict(zip(METRICS, zip(*values, strict=True), strict=True))
    assert len(set(by_metric.pop("AP"))) == 1
    for column in by_metric.values():
        assert all(worse < better - 1e-6 for worse, better in pairwise(column))
