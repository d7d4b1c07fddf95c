"""The part of the form that makes a plan of the runs that it describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.page.form import Form
from explorer.page.form import plans as page
from explorer.page.kinds import PAGES
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.server.titles import work
from explorer.settings import Limits, Settings
from trainers.config import Conditions, DataChoice
from trainers.errors import ParameterError, RunError
from trainers.kinds import KINDS, kind_of
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans.axes import axes, offered
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.training.executor import ProcessExecutor

FORMS = {name: Form(kind=KINDS[name], page=PAGES[name]) for name in ("metric_learning", "contrastive")}


def planned(*rows: tuple[str, str], form: str = "metric_learning", plan: str = "sweep", **own: Any) -> Any:
    """The plan of the untouched form with some fields changed; settings of the run are in ``run``."""
    return page.planned(FORMS[form], own.pop("run", {}), plan, own, rows)


def test_the_untouched_form_makes_three_seeds_of_the_default_run() -> None:
    made = planned()
    assert made == SweepConfig()
    assert [one.seed for one in kind_of(made).plan(made, {})] == [0, 1, 2]
    assert planned(plan="") == MetricLearningConfig()


def test_what_is_varied_is_read_as_typed() -> None:
    made = planned(("happier.alpha", "1, 5"), ("", ""), ("sampler", " m_per_class; two_super_classes "), seeds=[4, 5])
    assert made.seeds == (4, 5)
    assert made.vary == {"happier.alpha": [1, 5], "sampler": ["m_per_class", "two_super_classes"]}
    assert len(kind_of(made).plan(made, {})) == 4


def test_the_fields_show_a_sweep_and_a_single_run() -> None:
    made = planned(("dim", "32, 64"), seeds=[2_000_000_000, 7])
    shown = page.plan_values(made)
    assert (shown["plan"], shown["own"], shown["vary"]) == ("sweep", {"seeds": [2_000_000_000, 7]}, [["dim", "32, 64"]])
    assert planned(*shown["vary"], **shown["own"]) == made
    assert page.plan_values(made.run) == {"plan": "", "own": {"seeds": [0, 1, 2]}, "vary": []}


@pytest.mark.parametrize(
    ("rows", "own", "sentence"),
    [
        ([], {"seeds": "a"}, "given by their number, 1 to 20 .*; got 'a'"),
        ([], {"seeds": "0"}, "given by their number, 1 to 20 .*; got 0"),
        ([], {"seeds": [1, 1]}, "each once"),
        ([], {"seeds": [0.5]}, "seeds needs whole numbers"),
        ([("dim", "")], {}, "needs the values of dim"),
        ([("", "1, 2")], {}, "needs what takes the values '1, 2'"),
        ([("dim", "1, 32")], {}, "dim needs a whole number from 2"),
        ([("nope", "1")], {}, "there is no 'nope'"),
        ([("dim", "8"), ("dim", "16")], {}, "got 'dim' twice"),
        ([("dim", ",;")], {}, "dim needs a whole number from 2 to 4096; got ''"),
        ([], {"plan": "nope"}, "There is no plan 'nope'"),
        ([], {"plan": "fair_comparison", "trials": 101}, "trials needs a whole number"),
        ([], {"plan": "fair_comparison", "folds": "many"}, "folds"),
    ],
)
def test_what_is_wrong_is_a_sentence(rows: Any, own: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        planned(*rows, **own)


def test_a_fair_comparison_is_made_of_the_run_and_shown_again() -> None:
    noisy = {"data.conditions.label_noise": 0.2, "dim": 32}
    made = planned(("classes_per_batch", "8, 16"), plan="fair_comparison", run=noisy, seeds=[3, 4], trials=5, folds=3)
    assert isinstance(made, FairComparisonConfig) and isinstance(made.run, MetricLearningConfig)
    assert (made.trials, made.folds, made.seeds, made.run.dim) == (5, 3, (3, 4), 32)
    assert made.run.data == DataChoice(conditions=Conditions(label_noise=0.2, folds=3))
    assert page.plan_values(made)["own"] == {"seeds": [3, 4], "trials": 5, "folds": 3}
    names = [plan["name"] for plan in page.plans_json(FORMS["metric_learning"])]
    assert names == ["sweep", "fair_comparison"] and set(names) == set(page.WORDS)
    assert [plan["name"] for plan in page.plans_json(FORMS["contrastive"])] == names


@pytest.mark.parametrize("kind", ["metric_learning", "contrastive"])
@pytest.mark.parametrize("most", [Limits().runs, 30, None])
def test_what_is_offered_may_be_started(most: int | None, kind: str) -> None:
    form = FORMS[kind]
    for plan in page.plans_json(form, most):
        own = {field["name"]: field["default"] for field in plan["fields"]}
        made = page.planned(form, form.values(form.kind.config()), plan["name"], own, [])
        count = kind_of(made).sizes(made)["runs"]
        assert count <= (most or count) and len(made.seeds) >= 2


def test_methods_of_pretraining_can_be_varied() -> None:
    made = planned(("moco_v2.momentum", "0.9, 0.99"), form="contrastive")
    assert made == SweepConfig(run=KINDS["contrastive"].config(), vary={"moco_v2.momentum": [0.9, 0.99]})
    menu = dict(page.axes_of(FORMS["contrastive"], {"methods": [{"name": "supcon"}, {"name": "nope"}, 3]}))
    assert "supcon.temperature" in menu and not any(name.startswith("moco") for name in menu)


def test_everything_offered_can_be_varied() -> None:
    run = KINDS["metric_learning"].config(losses=(Choice(name="happier"), Choice(name="triplet")))
    names = offered(run)
    assert next(iter(names)).startswith("happier.") and "dim" in names and "source" not in names and "seed" not in names
    for name in names:
        with pytest.raises(ParameterError, match="needs a value; got none"):
            axes({name: []}, run)  # known: the values are what is missing
    assert not any("nope" in name for name in offered(run.changed(losses=(Choice(name="nope"),))))


def test_work_is_counted(tmp_path: Path) -> None:
    scheduler = Scheduler(Settings(runs=tmp_path, max_parallel=2), ProcessExecutor())
    runs = Runs(Settings(runs=tmp_path), scheduler)
    assert runs.work(planned(run={"minutes": 10})) == (3, 15.0)
    assert work(*runs.work(planned(run={"minutes": 60}))) == "3 runs, about 1 h 30 min in all."
    counted = planned(run={"minutes": None, "steps": 100})
    assert runs.work(counted) == (3, None) and "not known" in work(3, None)
    scheduler.close()


def test_a_public_page_bounds_the_runs(tmp_path: Path) -> None:
    settings = Settings(runs=tmp_path, public=True, limits=Limits(runs=4))
    scheduler = Scheduler(settings, ProcessExecutor())
    runs = Runs(settings, scheduler)
    runs.check(planned())
    with pytest.raises(RunError, match="a comparison may have 4 runs at most; got 6"):
        runs.check(planned(("dim", "32, 64")))
    scheduler.close()


def test_settings_of_a_run_are_offered_with_a_budget_that_a_public_page_accepts(tmp_path: Path) -> None:
    public = Settings(runs=tmp_path, public=True, limits=Limits(minutes=7))
    scheduler = Scheduler(public, ProcessExecutor())
    recorded = planned(run={"minutes": None, "steps": 300})
    within = Runs(public, scheduler).affordable(recorded)
    assert (within.run.minutes, within.run.steps, within.seeds) == (7, 300, recorded.seeds)
    assert Runs(public, scheduler).affordable(planned(run={"minutes": 60})).run.minutes == 7
    assert Runs(public, scheduler).affordable(planned(run={"minutes": 2})) == planned(run={"minutes": 2})
    assert Runs(Settings(runs=tmp_path), scheduler).affordable(recorded) == recorded
    scheduler.close()
