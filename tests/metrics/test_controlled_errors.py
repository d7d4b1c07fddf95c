"""Mistakes put into a perfect ranking: the rankings, the values against the definitions, what AP does not see."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tests.metrics import slow
from trainers.metrics.controlled_errors import LEVELS, METRICS, MISTAKES, RANKS, SIZES, WORDS, Case, cases, ranking


def of(mistakes: int, rank: int) -> list[Case]:
    """One case per severity, the worst first."""
    return sorted((one for one in cases() if (one.mistakes, one.rank) == (mistakes, rank)), key=lambda one: one.shared)


def test_every_setting_is_there_once() -> None:
    settings = Counter((one.shared, one.mistakes, one.rank) for one in cases())
    assert set(settings.values()) == {1}
    assert len(settings) == len(LEVELS) * (MISTAKES + 1) * RANKS
    assert WORDS == ("unrelated", "same family", "same group", "same class")
    assert max(MISTAKES, RANKS) <= min(SIZES)


def test_a_ranking_has_its_mistakes_where_it_says_and_is_perfect_besides() -> None:
    assert ranking(1, 2, 3)[:10] == [3, 3, 1, 1, 3, 3, 3, 3, 3, 3]
    for one in cases():
        assert Counter(one.ranking) == {level: SIZES[level] for level in range(4)}
        begin = one.rank - 1
        moved, rest = one.ranking[begin : begin + one.mistakes], list(one.ranking)
        del rest[begin : begin + one.mistakes]
        assert set(moved) <= {one.shared}
        assert rest == sorted(rest, reverse=True)


def test_values_are_those_of_the_definitions() -> None:
    for one in cases():
        wanted = [slow.score(name, list(one.ranking), len(LEVELS)) for name in METRICS]
        assert one.values == pytest.approx(wanted, abs=1e-12)


def test_without_mistakes_all_are_1_and_with_one_none_is() -> None:
    for one in cases():
        assert (one.values == pytest.approx([1.0] * len(METRICS))) == (one.mistakes == 0)


@pytest.mark.parametrize("rank", range(1, RANKS + 1))
@pytest.mark.parametrize("mistakes", range(1, MISTAKES + 1))
def test_ap_does_not_see_the_severity_and_the_others_do(mistakes: int, rank: int) -> None:
    by_metric = dict(zip(METRICS, zip(*(one.values for one in of(mistakes, rank)), strict=True), strict=True))
    assert len(set(by_metric.pop("AP"))) == 1
    for values in by_metric.values():
        assert all(worse < better - 1e-6 for worse, better in pairwise(values))
