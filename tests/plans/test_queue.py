"""Sweeps in the queue of a page and from the command line: they take turns, survive kills, delete what is theirs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.explorer.bench import STAND_IN, Bench
from tests.made_up_plan import AtOnce
from trainers.devices.device import CPU_PROCESSES
from trainers.errors import RunError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.children import Children, children_of
from trainers.plans.config import SweepConfig
from trainers.plans.runner import PlanRunner
from trainers.runs import RunFolder
from trainers.runs.records import RunState
from trainers.training.executor import Device, ProcessExecutor

TWO, FOUR = SweepConfig(seeds=(0, 1)), SweepConfig(seeds=(0, 1), vary={"dim": [8, 16]})


def folder(b: Bench, run_id: str) -> RunFolder:
    return RunFolder(b.settings.runs / run_id)


def ended(b: Bench, plan: str) -> dict[str, float]:
    """When each run that has finished did so, by id."""
    states = {child.id: child.state() for child in children_of(folder(b, plan))}
    return {name: state.updated for name, state in states.items() if state.phase == "finished"}


def test_a_sweep_trains_every_run_once_and_ends(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.1")
    plan = b.runs.start(FOUR, "")
    b.until(plan, "running")
    assert folder(b, plan).is_alive()  # the page works on it
    b.until(plan, "finished")
    children = Children(folder(b, plan)).all()
    assert [child.phase for child in children] == ["finished"] * 4
    assert {one.part_of for one in children_of(folder(b, plan))} == {plan}
    state = folder(b, plan).state()
    assert (state.step, state.planned_steps) == (4, 4) and "4 of 4 runs finished" in state.message


def test_a_run_whose_folder_is_being_made_is_planned_and_not_failed(tmp_path: Path) -> None:
    children = Children(RunFolder.create(tmp_path, TWO))
    making = tmp_path / children.all()[0].id
    making.mkdir()  # its configuration comes last
    assert [child.phase for child in children.all()] == ["planned", "planned"]
    long_ago = time.time() - 60
    os.utime(making, (long_ago, long_ago))
    assert children.all()[0].phase == "failed"


def test_after_a_kill_it_goes_on_and_repeats_nothing(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.4")
    plan = b.runs.start(FOUR, "")
    b.wait(lambda: len(ended(b, plan)) == 2)
    b.wait(lambda: any(child.state().phase == "running" for child in children_of(folder(b, plan))))
    before = ended(b, plan)
    b.scheduler.close()
    assert b.phase(plan) == "queued"
    b.open()  # as after a restart of the page; nobody asked for anything
    b.until(plan, "finished")
    after = ended(b, plan)
    assert len(after) == 4 and before.items() <= after.items()


@pytest.mark.long
def test_sweeps_of_ten_visitors_and_a_single_run_take_turns(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.05")
    plans = [b.runs.start(TWO, f"visitor {number}") for number in range(10)]
    b.wait(lambda: all(b.phase(plan) == "running" for plan in plans))
    single = b.runs.start(MetricLearningConfig(), "eleventh")
    b.wait(lambda: all(b.phase(run) == "finished" for run in (*plans, single)))
    done = sorted(
        (state.updated, plan)
        for plan in (*plans, single)
        for state in (
            [folder(b, plan).state()] if plan == single else [o.state() for o in children_of(folder(b, plan))]
        )
    )
    order = [plan for _, plan in done]
    assert len(order) == 21 and set(order[:10]) == set(plans)
    assert order.index(single) <= 11, "it joined behind the first run of each, and in front of their second ones"


def test_it_is_stopped_with_its_runs_and_goes_on(bench: Callable[..., Bench]) -> None:
    b = bench(how="1.5")
    plan = b.runs.start(TWO, "")
    b.wait(lambda: any(child.state().phase == "running" for child in children_of(folder(b, plan))))
    with pytest.raises(RunError, match="cannot be paused"):
        b.runs.pause(plan, "")
    with pytest.raises(RunError, match="stop it before deleting"):
        b.runs.delete(plan, "")
    assert "stop" in b.runs.stop(plan, "")
    b.wait(lambda: not any(b.scheduler.is_busy(child.id) for child in children_of(folder(b, plan))))
    assert b.phase(plan) == "stopped" and not folder(b, plan).is_alive()
    assert {child.state().phase for child in children_of(folder(b, plan))} == {"stopped"}
    b.how = "0.05"
    b.runs.resume(plan, "")
    b.until(plan, "finished")
    assert len(ended(b, plan)) == 2


def test_deleting_it_deletes_its_own_runs_alone(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.05")
    first, second, single = b.runs.start(TWO, ""), b.runs.start(TWO, ""), b.runs.start(MetricLearningConfig(), "")
    b.wait(lambda: all(b.phase(run) == "finished" for run in (first, second, single)))
    b.wait(lambda: not b.scheduler.is_busy(single))
    assert b.runs.delete(first, "") == "It is deleted, with its 2 runs."
    assert {one["id"] for one in b.runs.listing()} == {second, single, *ended(b, second)}


def test_a_sweep_whose_first_run_cannot_begin_says_so_and_tries_no_other(bench: Callable[..., Bench]) -> None:
    b = bench(how="dies")
    plan = b.runs.start(SweepConfig(seeds=(0, 1)), "")
    b.until(plan, "failed")
    assert "CUDA driver version is insufficient" in b.runs.status(plan)["error"]
    assert "are not tried: they would end in the same way" in b.runs.status(plan)["error"]
    phases = sorted(child.state().phase for child in children_of(folder(b, plan)))
    assert phases in (["failed"], ["failed", "stopped"])  # the next one may have been in the queue


def test_a_run_whose_trainer_is_killed_again_and_again_is_given_up(tmp_path: Path) -> None:
    plan = RunFolder.create(tmp_path, SweepConfig(seeds=(0,), run=MetricLearningConfig(losses=TWO.run.losses[:1])))
    executor = ProcessExecutor(command=lambda path: [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
    runner = PlanRunner(plan, lambda *_: None, executor=executor)
    while runner.advance(0.05):
        pass
    with pytest.raises(RunError, match="ended 3 times before it was done"):
        runner.finish()
    plan.db.close()


def test_the_command_line_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    plan = RunFolder.create(tmp_path, FOUR)

    def begin() -> PlanRunner:
        executor = ProcessExecutor(command=lambda path: [sys.executable, str(STAND_IN), str(path), "0.2"])
        return PlanRunner(plan, lambda *_: None, executor=executor)

    first = begin()
    while first.step < 2:
        first.advance(0.05)
    before = {child.id for child in Children(plan).all() if child.phase == "finished"}
    times = {run: RunFolder(tmp_path / run).state().updated for run in before}
    first.checkpoint()
    second = begin()
    assert second.step >= 2 and second.planned_steps == 4
    while second.advance(0.05):
        pass
    second.finish()
    assert second.step == 4
    assert {run: RunFolder(tmp_path / run).state().updated for run in before} == times
    plan.db.close()


class OnTwoDevices(AtOnce):
    """An executor of two devices in turn that ends every run as it is launched."""

    def __init__(self) -> None:
        self.launched: list[tuple[str, Device]] = []

    def free(self, processes: int = 1) -> Device:
        return Device(gpus=(str(len(self.launched) % 2),), processes=processes)

    def launch(self, folder: Path, device: Device) -> None:
        run = RunFolder(folder)
        run.db.set_state(RunState(phase="finished"))
        run.db.close()
        self.launched.append((folder.name, device))


def test_any_executor_gets_a_run_for_each_of_its_free_devices(tmp_path: Path) -> None:
    plan, executor = RunFolder.create(tmp_path, FOUR), OnTwoDevices()
    runner = PlanRunner(plan, executor=executor)
    while runner.advance(0.0):
        pass
    runner.finish()
    assert [run for run, _ in executor.launched] == [child.id for child in Children(plan).all()]
    assert [device.gpus for _, device in executor.launched] == [("0",), ("1",)] * 2
    plan.db.close()


def test_every_run_of_a_sweep_is_trained_by_as_many_processes_as_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CPU_PROCESSES, "2")
    plan, executor = RunFolder.create(tmp_path, FOUR.changed(processes=2)), OnTwoDevices()
    assert RunFolder.open(tmp_path, plan.id).config == FOUR and plan.processes == 2
    runner = PlanRunner(plan, executor=executor)
    while runner.advance(0.0):
        pass
    assert [device.processes for _, device in executor.launched] == [2] * 4
    assert {child.processes for child in children_of(plan)} == {2}
    plan.db.close()


def test_a_device_of_this_machine_trains_one_run_at_a_time(tmp_path: Path) -> None:
    gpus = tuple(Device(gpus=(name,)) for name in "0123")
    executor = ProcessExecutor(command=lambda _: [sys.executable, "-c", "input()"], devices=gpus)
    for number, (processes, gang) in enumerate(((1, ("0",)), (2, ("1", "2")))):
        device = executor.free(processes)
        assert device == Device(gpus=gang, processes=processes)
        (folder := tmp_path / str(number)).mkdir()
        executor.launch(folder, device)
        assert executor.holds(folder.name)
    assert executor.free() == Device(gpus=("3",)) and executor.free(2) is None  # it waits for both
    executor.close()
    assert executor.free(4) == Device(gpus=tuple("0123"), processes=4) and not executor.holds("0")


def test_processes_without_a_gpu_divide_a_share_of_the_cores() -> None:
    executor = ProcessExecutor(devices=(Device(threads=4),))
    assert executor.free(2) == Device(threads=2, processes=2)
