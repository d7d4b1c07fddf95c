"""The fields that make a sweep of the form of a single run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.page.kinds.base import KindForm
from explorer.page.kinds.contrastive import config_of as pretraining
from explorer.page.kinds.contrastive import held
from explorer.page.kinds.metric_learning import config_of, defaults
from explorer.page.plan_forms import plan_forms
from explorer.page.vary_form import VaryForm
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.server.titles import work
from explorer.settings import Limits, Settings
from trainers.errors import ParameterError, RunError
from trainers.kinds import KINDS, kind_of
from trainers.parameters import Choice
from trainers.plans.axes import axes, offered
from trainers.plans.config import SweepConfig
from trainers.training.executor import ProcessExecutor

FORM = KindForm(fields={}, config=config_of, held=dict, restored=dict)
SWEEP = plan_forms(KINDS["metric_learning"], FORM)["sweep"]
VARIED = VaryForm(kind=KINDS["metric_learning"], follows=())


def planned(**changes: Any) -> SweepConfig:
    """The sweep that the form describes with some fields changed."""
    values = defaults() | SWEEP.held(SweepConfig()) | changes
    return SWEEP.config(config_of(values), values)


def test_the_untouched_form_makes_three_seeds_of_the_default_run() -> None:
    made = planned()
    assert made == SweepConfig()
    assert [one.seed for one in kind_of(made).plan(made, {})] == [0, 1, 2]


def test_what_is_varied_is_read_as_typed() -> None:
    made = planned(
        seeds="4, 5",
        vary_0="happier.alpha",
        vary_0_values="1, 5",
        vary_1="sampler",
        vary_1_values="m_per_class; two_super_classes",
    )
    assert made.seeds == (4, 5)
    assert made.vary == {"happier.alpha": [1, 5], "sampler": ["m_per_class", "two_super_classes"]}
    assert len(kind_of(made).plan(made, {})) == 4


def test_the_fields_show_a_sweep_and_a_single_run() -> None:
    made = planned(seeds="2000000000, 7", vary_0="dim", vary_0_values="32, 64")
    held = VARIED.held(made)
    assert planned(**held) == made
    single = VARIED.held(config_of(defaults()))
    assert single["seeds"] == "0, 1, 2" and single["vary_0"] == single["vary_0_values"] == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seeds": "a"}, "seeds needs whole numbers"),
        ({"seeds": "1, 1"}, "each once"),
        ({"seeds": "0.5"}, "seeds needs whole numbers"),
        ({"vary_0": "dim"}, "needs the values of dim"),
        ({"vary_1_values": "1, 2"}, "needs what takes the values '1, 2'"),
        ({"vary_0": "dim", "vary_0_values": "1, 32"}, "dim needs a whole number from 2"),
        ({"vary_0": "nope", "vary_0_values": "1"}, "there is no 'nope'"),
        ({"vary_0": "dim", "vary_0_values": "8", "vary_1": "dim", "vary_1_values": "16"}, "got 'dim' twice"),
        ({"vary_0": "dim", "vary_0_values": ",;"}, "dim needs a whole number from 2 to 4096; got ''"),
    ],
)
def test_what_is_wrong_is_a_sentence(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        planned(**changes)


def test_a_browser_brings_back_only_what_can_be_used() -> None:
    kept = {"seeds": "3, 4", "vary_0": "dim", "vary_0_values": "32, 64", "vary_1": ["x"], "vary_1_values": "y" * 1000}
    assert VARIED.restored(kept) == {
        "seeds": "3, 4",
        "vary_0": "dim",
        "vary_0_values": "32, 64",
        "vary_1": "",
        "vary_1_values": "",
    }
    assert VARIED.restored({"seeds": "x", "vary_0": 3})["seeds"] == "0, 1, 2"


def test_everything_offered_can_be_varied() -> None:
    run = KINDS["metric_learning"].config(losses=(Choice(name="happier"), Choice(name="triplet")))
    names = offered(run)
    assert next(iter(names)).startswith("happier.") and "dim" in names and "source" not in names and "seed" not in names
    for name in names:
        with pytest.raises(ParameterError, match="needs a value; got none"):
            axes({name: []}, run)  # known: the values are what is missing
    assert not any("nope" in name for name in offered(run.changed(losses=(Choice(name="nope"),))))


def test_methods_of_pretraining_have_the_same_fold() -> None:
    fields = KindForm(fields={}, config=pretraining, held=dict, restored=dict)
    plan = plan_forms(KINDS["contrastive"], fields)["sweep"]
    run = KINDS["contrastive"].config()
    values = held(run) | plan.held(run) | {"vary_0": "moco_v2.momentum", "vary_0_values": "0.9, 0.99"}
    made = plan.config(pretraining(values), values)
    assert made == SweepConfig(run=run, vary={"moco_v2.momentum": [0.9, 0.99]})
    assert plan.held(made)["vary_0"] == "moco_v2.momentum" and plan.of == "contrastive"


def test_work_is_counted(tmp_path: Path) -> None:
    scheduler = Scheduler(Settings(runs=tmp_path, max_parallel=2), ProcessExecutor())
    runs = Runs(Settings(runs=tmp_path), scheduler)
    assert runs.work(planned(minutes=10)) == (3, 15.0)
    assert work(*runs.work(planned(minutes=60))) == "3 runs, about 1 h 30 min in all."
    counted = planned(minutes=None, steps="100")
    assert runs.work(counted) == (3, None) and "not known" in work(3, None)
    scheduler.close()


def test_a_public_page_bounds_the_runs(tmp_path: Path) -> None:
    settings = Settings(runs=tmp_path, public=True, limits=Limits(runs=4))
    scheduler = Scheduler(settings, ProcessExecutor())
    runs = Runs(settings, scheduler)
    runs.check(planned())
    with pytest.raises(RunError, match="a comparison may have 4 runs at most; got 6"):
        runs.check(planned(vary_0="dim", vary_0_values="32, 64"))
    scheduler.close()


def test_settings_of_a_run_are_offered_with_a_budget_that_a_public_page_accepts(tmp_path: Path) -> None:
    public = Settings(runs=tmp_path, public=True, limits=Limits(minutes=7))
    scheduler = Scheduler(public, ProcessExecutor())
    recorded = planned(minutes=None, steps="300")
    within = Runs(public, scheduler).affordable(recorded)
    assert (within.run.minutes, within.run.steps, within.seeds) == (7, 300, recorded.seeds)
    assert Runs(public, scheduler).affordable(planned(minutes=60)).run.minutes == 7
    assert Runs(public, scheduler).affordable(planned(minutes=2)) == planned(minutes=2)
    assert Runs(Settings(runs=tmp_path), scheduler).affordable(recorded) == recorded
    scheduler.close()
