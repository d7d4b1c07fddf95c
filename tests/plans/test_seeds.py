"""The seeds of a plan: written on the command line, on the page and in the API, and added to one that has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.page.form import Form
from explorer.page.form.plans import planned
from explorer.page.kinds import PAGES
from tests.explorer.bench import Bench
from tests.made_up_plan import make_plan, sweep
from trainers.cli.main import whole_parser
from trainers.cli.start import configuration
from trainers.errors import ParameterError, UserError
from trainers.kinds import KINDS
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans import PLANS
from trainers.plans.children import Children, add_seeds
from trainers.plans.config import FIRST, MOST_SEEDS, SweepConfig, sweep_of
from trainers.plans.plain import configured
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock

KIND = KINDS[FIRST]
FORM = Form(kind=KIND, page=PAGES[FIRST])
FLAGS = [
    ("3", (0, 1, 2)),
    ("4,7,9", (4, 7, 9)),
    ("4,", (4,)),
    ("7 4,9", (7, 4, 9)),
    ("4;7", (4, 7)),
    ("2000000000,0", (2_000_000_000, 0)),
]
VALUES: list[tuple[Any, tuple[int, ...]]] = [
    (3, (0, 1, 2)),
    ("3", (0, 1, 2)),
    (" 4, 7,9 ", (4, 7, 9)),
    ("4，7", (4, 7)),
    ([4, 7, 9], (4, 7, 9)),
]
WRONG: list[Any] = ["0", "21", "1234", "-1", "3.0", "a", "1,b", "", ",", 0, 21]


@pytest.mark.parametrize(("written", "seeds"), FLAGS)
@pytest.mark.parametrize("verb", ["sweep", "fair"])
def test_flags(verb: str, written: str, seeds: tuple[int, ...]) -> None:
    arguments = whole_parser().parse_args([verb, "--losses", "supcon", "--seeds", *written.split(" ")])
    assert sweep_of(configuration(arguments, KIND, PLANS[arguments.plan])).seeds == seeds


@pytest.mark.parametrize(("written", "seeds"), VALUES)
def test_page_and_api_and_python(written: Any, seeds: tuple[int, ...]) -> None:
    of_page = planned(FORM, {}, "sweep", {"seeds": written}, [])
    assert sweep_of(of_page).seeds == seeds
    assert sweep_of(configured("sweep", {"seeds": written})).seeds == seeds
    assert SweepConfig(seeds=written if not isinstance(written, list) else tuple(written)).seeds == seeds


@pytest.mark.parametrize("written", WRONG)
def test_what_is_neither_is_refused_with_both_spellings(written: Any) -> None:
    said = r"their number, 1 to 20 \(3 for the seeds 0, 1 and 2\), or one by one with commas \(4,7,9; .* 4,\); got "
    with pytest.raises(ParameterError, match=said):
        planned(FORM, {}, "sweep", {"seeds": written}, [])
    with pytest.raises(ParameterError, match=said):
        configured("sweep", {"seeds": written})


def stamps(plan: RunFolder) -> dict[str, float]:
    """When the state of every run that is there was written."""
    known = {}
    for child in Children(plan).all():
        if child.phase != "planned":
            run = plan.beside(child.id)
            known[child.id] = run.state().updated
            run.db.close()
    return known


def test_finished_runs_stay_and_the_new_ones_are_planned(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", "happier", seeds=2))
    before = stamps(plan)
    assert add_seeds(plan, 3).seeds == (0, 1, 2, 3, 4)
    children = Children(plan).all()
    assert [child.phase for child in children] == ["finished"] * 2 + ["planned"] * 3 and stamps(plan) == before
    state = plan.state()
    assert (state.phase, state.step, state.planned_steps) == ("stopped", 2, 5)
    plan.db.close()


@pytest.mark.parametrize("count", [0, -1, MOST_SEEDS])
def test_a_number_that_cannot_be_added_changes_nothing(count: int, tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=2))
    before = (plan.path / "config.json").read_bytes()
    with pytest.raises(UserError, match="1 to 18 more seeds"):
        add_seeds(plan, count)
    assert (plan.path / "config.json").read_bytes() == before and plan.state().phase == "finished"
    plan.db.close()


def test_a_plan_that_is_worked_on_or_a_single_run_gets_none(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=2))
    lock = RunLock(plan.path)
    assert lock.acquire()
    with pytest.raises(UserError, match="waits or trains"):
        add_seeds(plan, 1)
    lock.release()
    single = RunFolder.create(tmp_path, MetricLearningConfig())
    with pytest.raises(UserError, match="single run"):
        add_seeds(single, 1)
    for folder in (plan, single):
        folder.db.close()


def test_the_page_trains_the_new_runs_alone(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.05")
    plan = b.runs.start(SweepConfig(seeds=(4, 0)), "word")
    b.until(plan, "finished")
    folder = RunFolder(b.settings.runs / plan)
    before = stamps(folder)
    assert b.runs.add_seeds(plan, "word", 2) == "It resumes with 2 more seeds, 4 in all."
    b.until(plan, "finished")
    after = stamps(folder)
    assert len(after) == 4 and {name: after[name] for name in before} == before
    assert folder.config.seeds == (4, 0, 1, 2)  # type: ignore[attr-defined]
    folder.db.close()
