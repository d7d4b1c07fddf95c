"""The fold of the form that starts fair comparisons: what it holds, restores and makes."""

from __future__ import annotations

import pytest

from explorer.page.kinds.base import KindForm
from explorer.page.plan_forms import plan_forms
from trainers.config import Conditions, DataChoice
from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.config import FairComparisonConfig, SweepConfig

PLANS = plan_forms(KINDS["metric_learning"], KindForm(fields={}, config=dict, held=dict, restored=dict))
PLAN = PLANS["fair_comparison"]


def test_a_fair_comparison_is_made_of_a_run_and_the_fields_and_shown_in_them_again() -> None:
    noisy = DataChoice(conditions=Conditions(label_noise=0.2))
    single = MetricLearningConfig(data=noisy, dim=32)
    seeds = PLANS["sweep"].held(SweepConfig(seeds=(3, 4), vary={"classes_per_batch": [8, 16]}))
    made = PLAN.config(single, {**seeds, "trials": 5, "search_folds": 3})
    assert isinstance(made, FairComparisonConfig)
    assert (made.trials, made.folds, made.seeds, made.run.dim) == (5, 3, (3, 4), 32)
    assert made.run.data.conditions == Conditions(label_noise=0.2, folds=3)
    assert made.vary == {"classes_per_batch": [8, 16]}
    assert PLAN.held(made) == {"trials": 5, "search_folds": 3}
    assert PLAN.held(single) == {"trials": 8, "search_folds": 2} == PLAN.restored({})
    assert PLAN.restored({"trials": 12, "search_folds": 4}) == {"trials": 12, "search_folds": 4}
    assert PLAN.restored({"trials": 0, "search_folds": "many"}) == {"trials": 8, "search_folds": 2}
    with pytest.raises(ParameterError, match="trials needs a whole number"):
        PLAN.config(single, {**seeds, "trials": 101, "search_folds": 2})


def test_its_fields_come_after_those_of_sweeps_which_it_reads() -> None:
    assert list(PLANS) == ["sweep", "fair_comparison"]
    assert list(plan_forms(KINDS["contrastive"], KindForm(fields={}, config=dict, held=dict, restored=dict))) == [
        "sweep"
    ]
