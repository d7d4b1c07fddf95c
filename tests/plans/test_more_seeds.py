"""Seeds added to a sweep that has ended: its folder goes on, and only the new runs are trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.explorer.bench import Bench
from tests.made_up_plan import make_plan, sweep
from trainers.cli.main import main
from trainers.errors import UserError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.children import Children
from trainers.plans.config import SweepConfig
from trainers.plans.more_seeds import add_seeds
from trainers.plans.seeds import MOST_SEEDS
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock


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


def test_the_command_refuses_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=2))
    assert main(["resume", plan.id, "--more-seeds", "99", "--runs", str(tmp_path)]) == 1
    assert "so 1 to 18 more seeds can be added; got 99" in capsys.readouterr().err
    plan.db.close()
