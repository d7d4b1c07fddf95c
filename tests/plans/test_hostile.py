"""Plans whose settings or files are damaged or hostile: they fail with a sentence, and hold up nothing."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.explorer.bench import Bench
from tests.made_up_plan import make_plan, sweep
from trainers.errors import ParameterError, RunError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans import PLANS
from trainers.plans.children import children_of
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.plans.report import report
from trainers.plans.runner import PlanRunner
from trainers.runs import RunFolder
from trainers.runs.folder import remove
from trainers.runs.lock import RunLock
from trainers.runs.records import RunState
from trainers.training.executor import ProcessExecutor

LONG = list(range(100, 500))
HUGE = {"max_images": LONG, "steps": LONG, "warm_up": LONG, "probe_size": LONG}
"""More combinations than could ever be made."""


def change(folder: RunFolder, **changes: Any) -> None:
    path = folder.path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "config",
    [
        SweepConfig(vary=HUGE),
        SweepConfig(vary={"max_images": list(range(1, 50_000))}),
        SweepConfig(seeds=tuple(range(50_000))),
        FairComparisonConfig(vary=HUGE),
        FairComparisonConfig(trials=10**9),
    ],
)
def test_too_many_runs_are_counted_and_not_made(config: SweepConfig) -> None:
    with pytest.raises(ParameterError, match="at most 500"):
        PLANS[config.kind].plan(config, {})


def test_a_plan_that_cannot_be_planned_fails_and_the_queue_goes_on(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.05")
    plan = b.runs.start(SweepConfig(seeds=(0,)), "")
    change(RunFolder(b.settings.runs / plan), vary={"<img src=x>": [1]})
    single = b.runs.start(MetricLearningConfig(), "")
    b.until(single, "finished")
    assert b.phase(plan) == "failed" and "there is no '<img" in b.runs.status(plan)["error"]


def test_no_run_of_a_public_plan_trains_longer_than_a_run_may(bench: Callable[..., Bench]) -> None:
    b = bench(public=True)
    for vary in ({"minutes": [1, 600]}, {"minutes": [None], "steps": [5]}):
        with pytest.raises(RunError, match="10 minutes at most"):
            b.runs.start(SweepConfig(run=MetricLearningConfig(minutes=1), seeds=(0,), vary=vary), "secret")


def test_a_report_goes_on_without_results_per_query_that_are_damaged(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", "happier"))
    whole = report(plan).parts[0].table
    next(children_of(plan)).queries_path.write_bytes(b"junk")
    damaged = report(plan).parts[0].table
    assert whole is not None and damaged is not None
    assert [[estimate.mean for estimate in line.estimates] for line in damaged.lines] == [
        [estimate.mean for estimate in line.estimates] for line in whole.lines
    ]
    assert damaged.csv() != whole.csv(), "the intervals no longer know the classes"
    plan.db.close()


def test_errors_are_no_markup_in_a_report(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=2), stand=lambda one: "failed" if one.seed else "finished")
    lost = next(child for child in children_of(plan) if child.state().phase == "failed")
    lost.db.set_state(RunState(phase="failed", error="<img src=x>\n\\input{/etc/passwd}\n# Heading"))
    made = report(plan)
    assert "- seed 1: \\<img src=x\\> \\\\input\\{/etc/passwd\\} \\# Heading" in made.markdown()
    assert "\n% seed 1: <img src=x> \\input{/etc/passwd} # Heading\n" in made.latex()
    for folder in (lost, plan):
        folder.db.close()


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")  # of numpy, which overflows
@pytest.mark.parametrize("value", ["9e999", "1.7e308"])
def test_numbers_too_large_leave_a_report_of_the_others(value: str, tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", "happier", seeds=2))
    child = next(children_of(plan))
    child.db.write(f"UPDATE metrics SET value = {value}", [()])
    child.db.close()
    (part,) = report(plan).json()["parts"]
    assert json.dumps(part, allow_nan=False) and len(part["table"]["rows"]) == 2
    plan.db.close()


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "../../etc/passwd", "itself"])
def test_a_run_is_part_of_nothing_but_another_run(text: str, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, MetricLearningConfig(), part_of="A" * 26)
    assert folder.part_of == "A" * 26
    (folder.path / "part_of").write_text(f"{folder.id if text == 'itself' else text}\nseed 0")
    assert folder.part_of == "" == folder.place_in_plan
    folder.db.close()


def test_what_tells_a_run_from_others_is_read_as_far_as_it_is_kept(tmp_path: Path) -> None:
    folder = RunFolder.create(
        tmp_path, MetricLearningConfig(), part_of="A" * 26, place_in_plan="seed 0, \u2211 " + "x" * 5000
    )
    assert folder.part_of == "A" * 26
    assert folder.place_in_plan.startswith("seed 0, \u2211 xxx") and len(folder.place_in_plan) <= 300
    (folder.path / "part_of").write_text("A" * 26 + "\nseed\n 0,\r\n\x00\u202enoise\u2028 1 \x1b[31m" + "y" * 3000)
    assert folder.place_in_plan.startswith("seed 0, noise 1 [31myyy") and len(folder.place_in_plan) <= 300
    (folder.path / "part_of").write_bytes(b"\xff" * 30)
    assert folder.part_of == "" == folder.place_in_plan
    (folder.path / "part_of").write_text("A" * 26)  # as earlier versions wrote it
    assert folder.part_of == "A" * 26 and folder.place_in_plan == ""
    folder.db.close()


def test_making_a_run_leaves_one_of_the_same_id_as_it_is(tmp_path: Path) -> None:
    first = RunFolder.create(tmp_path, MetricLearningConfig(), run_id="A" * 26)
    first.db.close()
    before = sorted(path.name for path in first.path.iterdir())
    with pytest.raises(RunError, match="cannot be written"):
        RunFolder.create(tmp_path, MetricLearningConfig(), run_id="A" * 26)
    assert sorted(path.name for path in first.path.iterdir()) == before


def test_a_run_that_another_program_trains_is_waited_for(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=1), stand=lambda _: "running")
    (child,) = children_of(plan)
    lock = RunLock(child.path)
    assert lock.acquire()
    started = []
    executor = ProcessExecutor(command=lambda path: [sys.executable, "-c", "", started.append(path) or ""])
    runner = PlanRunner(plan, lambda *_: None, executor=executor)
    assert all(runner.advance(0.0) for _ in range(3)) and not started
    child.db.set_state(RunState(phase="finished"))
    assert not runner.advance(0.0)
    lock.release()
    for folder in (child, plan):
        folder.db.close()


def test_a_file_that_goes_while_its_folder_is_removed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    calls, rmtree = [], shutil.rmtree

    def once(path: Path) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise FileNotFoundError("run.db-shm")
        rmtree(path)

    monkeypatch.setattr(shutil, "rmtree", once)
    remove(tmp_path / "run")
    assert len(calls) == 2 and not (tmp_path / "run").exists()
