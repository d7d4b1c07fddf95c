"""Fair comparisons: what is searched, which runs are planned, and that every trial can be trained."""

from __future__ import annotations

import dataclasses
import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.plans.fair_comparison.made_up import COMPARED, fair, hill, outcome, played, whole
from tests.tiny import write_images
from trainers.config import Conditions, DataChoice
from trainers.data import load_data
from trainers.errors import UserError
from trainers.kinds import check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.losses import LOSSES
from trainers.parameters import Choice, specs
from trainers.plans.config import FairComparisonConfig
from trainers.plans.fair_comparison import DESCRIPTOR as PLAN
from trainers.plans.search import most_runs, searches
from trainers.plans.space import Dimension, Space, proposed, space_of


def space(loss: str, learning_rate: float, **given: object) -> Space:
    return space_of(LOSSES[loss].parameters, given, learning_rate)


@pytest.mark.parametrize("name", list(LOSSES))
def test_the_space_of_a_loss_holds_its_defaults_and_nothing_it_refuses(name: str) -> None:
    found = space(name, 4e-3)
    own = {spec.name: spec for spec in specs(LOSSES[name].parameters)}
    rate, *dimensions = found.dimensions
    assert (rate.low, rate.high, rate.log) == (pytest.approx(4e-4), pytest.approx(4e-2), True)
    assert {one.name for one in dimensions} | set(found.left) == set(own)
    assert not {one.name for one in dimensions} & set(found.left)
    for one in dimensions:
        assert one.given == own[one.name].default
        assert one.given in one.choices if one.choices else one.low <= one.given <= one.high
        for value in one.choices or (one.low, one.high):
            LOSSES[name].checked({one.name: value})
    for number in range(1, 4):
        point = proposed(found.dimensions, (), number=number, seed=5, maximise=True)
        learning_rate, parameters = found.apart(point)
        assert 4e-4 <= learning_rate <= 4e-2
        LOSSES[name].checked(parameters)


def test_ranges_follow_from_the_declared_ones() -> None:
    spaces = {name: {one.name: one for one in space(name, 50.0).dimensions} for name in LOSSES}
    assert spaces["triplet"]["learning_rate"].range == "5 to 100, logarithmic", "no higher than what is accepted"
    assert spaces["contextual"]["eps"].range == "0.005 to 0.5, logarithmic", "0 to 1 is accepted; the default is 0.05"
    assert spaces["contextual"]["pos_margin"].range == "-1 to 1"
    assert spaces["fastap"]["num_bins"] == Dimension(name="num_bins", given=10, low=2, high=100, log=True, whole=True)
    assert spaces["triplet"]["swap"].choices == (False, True)
    assert spaces["contrastive"]["pos_margin"].range == "0 to 2", "a default of 0 has no decade around it"
    left = space("contextual", 4e-3, lam=0.2)
    assert (left.fixed, left.left) == (("lam",), ("k", "alpha", "total"))
    assert "positive_cutoff" in space("xbm_contrastive", 4e-3).left, "a tolerance is not searched"


def test_no_fold_of_a_trial_holds_a_class_of_the_test_set(tmp_path: Path) -> None:
    images = DataChoice(source=str(write_images(tmp_path / "images", each=2)), image_size=24)
    planned, _ = whole(fair("triplet", trials=1, data=images, probe_size=20, seeds=(0,)))
    check(planned[0].config)
    real = load_data(images)
    classes = {part: set(getattr(real, part).labels[:, 0].tolist()) for part in ("train", "test")}
    names = real.hierarchy.names[0]
    known = {part: {names[one] for one in classes[part]} for part in classes}
    assert not known["train"] & known["test"]
    tested = []
    for run in planned:
        data = load_data(run.config.data)
        own = [{data.hierarchy.names[0][one] for one in part.labels[:, 0].tolist()} for part in (data.train, data.test)]
        if run.part == "search":
            assert own[0] | own[1] == known["train"] and not own[0] & own[1]
            tested.append(own[1])
        else:
            assert own == [known["train"], known["test"]]
    assert len(tested) == 2 and tested[0] | tested[1] == known["train"] and not tested[0] & tested[1]


def test_every_loss_gets_the_same_trials_on_the_same_folds_and_each_run_is_planned_once() -> None:
    config = fair(trials=6, data=DataChoice(conditions=Conditions(folds=3, label_noise=0.2)))
    planned, _ = whole(config)
    assert len({run.name for run in planned}) == len(planned)
    trials = [run for run in planned if run.part == "search"]
    per_loss = Counter(run.config.losses[0].name for run in trials)
    assert per_loss == dict.fromkeys(COMPARED, 6 * 3)
    assert Counter(run.config.data.conditions.fold for run in trials) == dict.fromkeys((1, 2, 3), 3 * 6)
    assert {run.config.seed for run in trials} == {config.search_seed}
    assert all(len(run.config.losses) == 1 and run.config.data.conditions.folds == 3 for run in trials)
    compared = [run for run in planned if run.part != "search"]
    assert {run.config.data.conditions for run in compared} == {Conditions(label_noise=0.2)}, "no folds, the same noise"
    assert Counter(run.part for run in compared) == {"defaults": 9, "chosen": 9}
    assert len(planned) <= sum(most_runs(config).values()) == PLAN.sizes(config)["runs"]
    budgets = {(run.config.steps, run.config.minutes, run.config.epochs) for run in planned}
    assert budgets == {(10, None, None)}


def test_a_plan_grows_only_and_is_the_same_whatever_the_order_in_which_runs_end() -> None:
    config = fair("triplet", "multi_similarity", trials=6, seeds=(0, 1))
    before: list = []
    for planned, _outcomes in played(config):
        names = [run.name for run in planned]
        assert set(before) <= set(names)
        before = names
    draws = random.Random(3)
    outcomes: dict = {}
    while waiting := [run for run in PLAN.plan(config, outcomes) if run.name not in outcomes]:
        run = draws.choice(waiting)
        outcomes[run.name] = outcome(run, hill)
    final = PLAN.plan(config, outcomes)
    assert [run.name for run in final] == before
    assert final == PLAN.plan(config, dict(reversed(outcomes.items())))


def test_a_search_that_is_replayed_after_its_program_was_killed_goes_on_with_the_same_trials(capfd) -> None:
    config = fair("triplet", trials=7, seeds=(0,))
    states = list(played(config))
    for planned, outcomes in states[:: len(states) // 4]:
        proposed.cache_clear()  # all that a process keeps
        assert PLAN.plan(config, outcomes) == planned
        random.random(), np.random.random()  # nobody's random state counts
    assert capfd.readouterr() == ("", ""), "Optuna says nothing"


def test_the_search_finds_an_optimum_away_from_the_settings_given() -> None:
    config = fair("triplet", trials=20, seeds=(0,))
    planned, outcomes = whole(config)
    (search,) = searches(config, outcomes)
    assert search.ended and search.chosen.number > 0
    given = search.trials[0]
    assert given.point == (config.run.learning_rate, 0.2, False) and given.score == pytest.approx(
        1 / (1 + 1.50515), abs=1e-4
    )
    assert search.chosen.score == max(trial.score for trial in search.trials) > 1.5 * given.score
    later = [trial.score for trial in search.trials[10:]]
    random_ones = [trial.score for trial in search.trials[1:10]]
    assert sum(later) / len(later) > sum(random_ones) / len(random_ones), "trials from results are better than random"
    (chosen,) = [run for run in planned if run.part == "chosen"]
    assert chosen.config.learning_rate == search.chosen.point[0]
    assert hill(chosen) == pytest.approx(search.chosen.score)
    assert chosen.config.data.conditions == Conditions() and chosen.config.seed == 0
    (given_run,) = [run for run in planned if run.part == "defaults"]
    assert chosen.variants[0].title == given_run.variants[0].title == "Triplet"


def test_failed_and_diverged_trials_count_as_worst_and_are_not_tried_again() -> None:
    def steep(run):
        if run.config.learning_rate > 2e-3:
            return None if run.config.learning_rate > 1e-2 else math.nan
        return hill(run)

    config = fair("triplet", trials=10, seeds=(0,))
    _, outcomes = whole(config, steep)
    (search,) = searches(config, outcomes)
    failed = [trial for trial in search.trials if trial.score is None]
    assert search.trials[0] in failed and len(search.trials) == 10, "a failed trial uses up its share of the budget"
    assert search.chosen.score is not None and search.chosen.point[0] <= 2e-3
    assert all(trial.score is not None for trial in search.trials if trial.point[0] <= 2e-3)
    one_fold = lambda run: None if run.name.endswith("fold=2") else hill(run)  # noqa: E731
    (none,) = searches(config, whole(config, one_fold)[1])
    assert none.ended and [trial.score for trial in none.trials] == [None] * 10, "a mean needs all folds"
    assert none.chosen.number == 0
    assert not [run for run in whole(config, one_fold)[0] if run.part == "chosen"], "the settings given are compared"


def test_what_is_varied_is_searched_apart_and_keeps_its_value() -> None:
    vary = {"label_noise": [0.0, 0.4], "triplet.margin": [0.1, 0.5]}
    config = fair("triplet", "contextual", vary=vary, trials=3, seeds=(0, 1))
    check(config)
    planned, outcomes = whole(config)
    settings = searches(config, outcomes)
    assert [(one.contender.variant.title, one.contender.condition) for one in settings] == [
        (title, {"Label noise": noise})
        for noise in (0.0, 0.4)
        for title in ("Triplet (margin 0.1)", "Triplet (margin 0.5)", "Contextual")
    ]
    assert all(len(one.trials) == 3 for one in settings)
    assert settings[0].space.fixed == ("margin",)
    margins = {run.config.losses[0].parameters.get("margin") for run in planned if run.variants[0].family == "Triplet"}
    assert margins == {0.1, 0.5}
    noise = {(run.condition["Label noise"], run.config.data.conditions.label_noise) for run in planned}
    assert noise == {(0.0, 0.0), (0.4, 0.4)}


def test_the_metric_that_decides_is_measured_in_every_run() -> None:
    assert {run.config.metrics for run in PLAN.plan(fair("triplet", select_by="AP_at_R"), {})} == {()}
    config = fair("triplet", select_by="R_at_10", metrics=("AP_at_100",))
    check(config)
    assert {run.config.metrics for run in PLAN.plan(config, {})} == {("AP_at_100", "R_at_10")}


def test_trials_may_be_shorter_than_the_runs_that_are_compared() -> None:
    planned, _ = whole(fair("triplet", trials=2, search_steps=3))
    assert {(run.part == "search", run.config.steps) for run in planned} == {(True, 3), (False, 10)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 0}, "trials needs a whole number from 1 to 100"),
        ({"seeds": (1, 1)}, "each once"),
        ({"select_by": "R_at"}, "There is no metric 'R_at'"),
        ({"select_by": "images_per_s"}, "There is no metric 'images_per_s'"),
        ({"vary": {"learning_rate": [0.1, 0.2]}}, "searches the learning rate"),
        ({"vary": {"fold": [1, 2]}}, "fold cannot be varied"),
        ({"data": DataChoice(conditions=Conditions(folds=1))}, "2 folds or more"),
        ({"data": DataChoice(conditions=Conditions(folds=3, fold=2))}, "got 3 folds and fold 2"),
        ({"trials": 100}, "at most 500 runs; this one would have 600"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_change(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check(fair(**changes))


def test_the_settings_given_may_be_left_out_unless_they_are_chosen() -> None:
    config = fair("triplet", "contextual", trials=8, searched="rate", seeds=(0, 1), compare_given=False)
    check(config)

    def given_is_best(run):
        return 1.0 if run.config.learning_rate == config.run.learning_rate else 0.1

    for score, part in ((hill, "chosen"), (given_is_best, "defaults")):
        planned, _ = whole(config, score)
        compared = [run for run in planned if run.part != "search"]
        assert {run.part for run in compared} == {part} and all("chosen" in run.parts for run in compared)
        assert Counter((run.variants[0].title, run.seed) for run in compared) == dict.fromkeys(
            [(title, seed) for title in ("Triplet", "Contextual") for seed in (0, 1)], 1
        )
        assert len(compared) <= most_runs(config)["chosen"] and most_runs(config)["defaults"] == 0


def test_contrastive_methods_are_searched_on_folds_of_images() -> None:
    run = ContrastiveConfig(methods=(Choice(name="moco_v2"), Choice(name="supcon")), steps=10, minutes=None)
    config = FairComparisonConfig(run=run, trials=3, select_by="knn_accuracy")
    check(config)
    trials = [run for run in PLAN.plan(config, {}) if run.part == "search"]
    assert {run.config.data.conditions.fold for run in trials} == {1, 2}  # type: ignore[attr-defined]
    assert {run.config.methods[0].name for run in trials} == {"moco_v2", "supcon"}  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="There is no metric 'loss'"):
        check(dataclasses.replace(config, select_by="loss"))
