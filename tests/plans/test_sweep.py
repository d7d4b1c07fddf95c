"""Sweeps as pure functions: which runs are planned, and what is refused."""

from __future__ import annotations

import dataclasses

import pytest

from trainers.config import MAX_ARMS
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans import PLANS
from trainers.plans.config import SweepConfig
from trainers.plans.planned import Outcome
from trainers.runs.folder import id_within, is_id, new_id

IMAGES = "Maximum images per split"
SWEEP = PLANS["sweep"]
RUN = MetricLearningConfig(losses=(Choice(name="smooth_ap"), Choice(name="happier")))


def test_there_is_a_run_for_every_seed_and_value_and_an_arm_for_every_loss() -> None:
    vary = {"dim": [16, 32], "max_images": [100, 200, 300], "happier.alpha": [1, 5]}
    config = SweepConfig(run=RUN, seeds=(3, 4), vary=vary)
    planned = SWEEP.plan(config, {})
    found = {(one.config.seed, one.config.dim, one.config.data.max_images) for one in planned}
    assert len(planned) == len(found) == 2 * 2 * 3
    assert len({one.name for one in planned}) == len(planned)
    for one in planned:
        assert one.config.kind == "metric_learning" and one.config.seed == one.seed
        assert [variant.title for variant in one.variants] == ["Smooth-AP", "HAPPIER (alpha 1)", "HAPPIER (alpha 5)"]
        assert [dict(loss.parameters) for loss in one.config.losses] == [{}, {"alpha": 1}, {"alpha": 5}]
        assert one.condition == {"Embedding size": one.config.dim, IMAGES: one.config.data.max_images}


def test_a_plan_is_the_same_whenever_it_is_made_and_so_are_the_ids_of_its_runs() -> None:
    config = SweepConfig(run=RUN, vary={"alpha": [1, 2]})
    first, again = SWEEP.plan(config, {}), SWEEP.plan(dataclasses.replace(config), {})
    assert list(first) == list(again)
    plan = new_id()
    ids = [id_within(plan, one.name) for one in first]
    assert len(set(ids)) == len(ids) and all(map(is_id, ids)) and all(one[:10] == plan[:10] for one in ids)
    assert id_within(new_id(), first[0].name) not in ids


def test_more_variants_than_a_run_takes_are_spread_over_runs_of_the_same_seed() -> None:
    config = SweepConfig(run=RUN, seeds=(0,), vary={"alpha": list(range(1, 9))})
    planned = SWEEP.plan(config, {})
    assert [len(one.config.losses) for one in planned] == [MAX_ARMS, 3]
    assert {one.config.seed for one in planned} == {0}


def test_arms_of_a_run_that_failed_are_trained_alone() -> None:
    config = SweepConfig(run=RUN, seeds=(0, 1))
    first, second = SWEEP.plan(config, {})
    planned = SWEEP.plan(
        config, {first.name: Outcome(finished=False, error="NaN"), second.name: Outcome(finished=True)}
    )
    assert [[loss.name for loss in one.config.losses] for one in planned] == [
        ["smooth_ap", "happier"],
        ["smooth_ap"],
        ["happier"],
        ["smooth_ap", "happier"],
    ]
    stopped = {first.name: Outcome(finished=False, stopped=True)}
    assert list(SWEEP.plan(config, stopped)) == [first, second]
    assert planned[1].variants == first.variants[:1] and planned[1].condition == first.condition


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vary": {"nonsense": [1]}}, "there is no 'nonsense'"),
        ({"vary": {"happier.nonsense": [1]}}, "there is no 'happier.nonsense'"),
        ({"vary": {"dim": [16, 16]}}, "each value once"),
        ({"vary": {"dim": []}}, "needs a value"),
        ({"vary": {"dim": ["wide"]}}, "a whole number from 2 to 4096"),
        ({"vary": {"seed": [1, 2]}}, "there is no 'seed'"),
        ({"seeds": ()}, "1 to 20 seeds"),
        ({"seeds": (1, 1)}, "each once"),
        *(({"vary": {name: [1, 2]}}, "there is no") for name in ("", ".", "data.")),
        ({"vary": {"dim": [8, 16], "data.dim": [8, 16]}}, "are the same one"),
        ({"vary": {"tau": [0.01, 0.02], "smooth_ap.tau": [0.01, 0.02]}}, "are the same one"),
        ({"run": dataclasses.replace(RUN, losses=())}, "one to 6"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(changes: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check(dataclasses.replace(SweepConfig(run=RUN), **changes))
