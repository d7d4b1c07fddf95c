"""The contract of every number: complete words for all of them, exact values for those that are computed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.formulas import check_symbols
from tests.metrics import slow
from tests.metrics.worlds import listed, tree
from trainers.errors import ParameterError
from trainers.metrics import IMAGE_TEXT_METRICS, METRICS, PUBLISHED, Measure, catalogue, describe, evaluate
from trainers.metrics.bitmasks import Judged
from trainers.metrics.names import describe_any

JUDGES = [measure for measure in IMAGE_TEXT_METRICS.values() if measure.judge is not None]


def spelled(measure: Measure, level: int = 0) -> str:
    """A key of the number, with a cut-off and a level where it takes them."""
    name = measure.name.replace("_at_k", "_at_2").replace("_level_l", f"_level{level}").replace("*", "tail")
    return f"{name}_level{level}" if measure.each_level else name


@pytest.mark.parametrize("name", catalogue.MEASURES)
def test_every_number_is_described(name):
    measure = catalogue.MEASURES[name]
    assert measure.name == name and measure.title
    assert measure.sentence.endswith(".") and measure.sentence[0].isupper()
    assert measure.unit in ("share", "number", "count") and measure.better in ("up", "down", "")
    assert (measure.unit == "count") == (measure.family == "count")
    formula = name in PUBLISHED
    assert all(map(bool, (measure.paper, measure.url, measure.equation))) == formula
    assert measure.equation.count("{") == measure.equation.count("}")
    check_symbols(measure.equation, measure.symbols)
    assert (measure.score is not None) == (measure.family == "ranking")
    found = describe(spelled(measure), ("class",))
    assert found.measure is measure
    assert "@k" not in found.title + found.short and "top-k" not in found.sentence and "*" not in found.title


@pytest.mark.parametrize("name", catalogue.MEASURES)
def test_a_key_belongs_to_one_number(name):
    key = spelled(catalogue.MEASURES[name])
    assert [other for other, measure in catalogue.MEASURES.items() if measure.pattern.fullmatch(key)] == [name]


@pytest.mark.parametrize(
    "name", [name for name, metric in METRICS.items() if (metric.unit, metric.better) == ("share", "up")]
)
def test_a_perfect_ranking_scores_one(name):
    key = spelled(METRICS[name])
    assert listed([[2, 2, 1, 1, 1, 1, 0, 0]], 2, [key])[key] == pytest.approx(1, abs=1e-15)


def test_every_loop_is_of_a_metric():
    assert set(METRICS) >= slow.DEFINED


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("depth", [1, 3])
def test_names_of_classes_change_nothing_and_loops_agree(name, depth):
    asked = [spelled(METRICS[name], level) for level in range(depth)]
    emb, labels = tree(11, 40, depth)
    got = evaluate(emb, labels, metrics=asked, per_query=True)
    renamed = torch.stack([torch.randperm(1000)[column] for column in labels.T], 1)
    again = evaluate(emb, renamed, metrics=asked, per_query=True)
    lists = slow.ranked_levels(emb, labels)
    for key in asked:
        np.testing.assert_array_equal(got[key], again[key], err_msg=key)
        if name in slow.DEFINED:
            want = [slow.score(key, levels, depth) for levels in lists]
            np.testing.assert_allclose(got[key], want, rtol=0, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("measure", JUDGES, ids=lambda measure: measure.name)
def test_judged_captions_score_their_best_and_their_worst(measure):
    def judged(verdict: int, counted: bool = True) -> Judged:
        flags = np.array([counted])
        verdicts = np.full((1, 5), verdict, np.uint8)
        return Judged(verdicts=verdicts, relevant=np.array([9]), removed=flags, present=flags)

    right, wrong = (measure.judge(judged(verdict), 3)[0] for verdict in (3, 0))
    assert (right, wrong) == ((1, 0) if measure.better == "up" else (0, 1))
    assert np.isnan(measure.judge(judged(3, counted=False), 3)[0])


def test_unknown_keys_stand_for_themselves():
    with pytest.raises(ParameterError, match="no number"):
        describe("mood")
    assert describe_any("mood").title == "mood" and describe_any("mood").is_curve
    assert not describe("test/HAP").is_curve and not describe("probe_images").is_curve
