"""Trains a run with a progress bar, and prints its final numbers."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainers.cli.output import print_json, training_line
from trainers.cluster.address import address
from trainers.cluster.holding import has_record
from trainers.distributed.launch import processes
from trainers.errors import DISK_FULL, UNEXPECTED, RunError
from trainers.kinds import arm_titles, kind_of
from trainers.progress import interval
from trainers.runs import RunFolder
from trainers.runs.records import PHASES, RunState
from trainers.training.interrupts import answer

if TYPE_CHECKING:
    from trainers.training.executor import Device, ProcessExecutor

LOOK_SECONDS = interval(0.3)  # between two looks at a run that other processes train


def work(folder: RunFolder, *, new: bool = False, as_json: bool = False, quiet: bool = False) -> int:
    """Train, and print the final numbers or the error; returns the exit status.

    Args:
        new: the run was made for this; if it cannot even begin, which the sentence says why, its folder goes again.
        as_json: print :func:`described`.
        quiet: do not show how far it is.
    """
    state = trained(folder, quiet)
    if state.error:
        print(f"rankscope: {state.error}", file=sys.stderr)
        if new and _refused(folder, state):
            folder.delete()
        return 1
    if as_json:
        print_json(described(folder))
    else:
        print(state.message if state.phase != "finished" else result(folder))
    return 0


def train_to_end(folder: RunFolder) -> None:
    """Train a run that is useless unless it is finished.

    Raises:
        RunError: it did not finish.
    """
    state = trained(folder)
    if state.phase != "finished":
        raise RunError(f"The training ended as {state.phase}: {state.error or state.message}.")


def result(folder: RunFolder) -> str:
    """Write the numbers over the whole test set, a line per arm, and what they say of the training."""
    config = folder.config
    kind = kind_of(config)
    titles = [arm.title for arm in kind.arms(config)]
    taken = f"{steps} in " if (steps := kind.by_stage(folder)) else ""
    from trainers.plans.children import lacks
    from trainers.retrieval.probe_results import diagnosed
    from trainers.retrieval.untrained.findings import findings
    from trainers.retrieval.untrained.words import untrained_lines

    lines = [f"note: {finding.sentence}" for finding in findings(folder)]
    lines += [f"finished after {taken}{folder.state().seconds:.0f} s; {kind.result(config, folder)}"]
    lines += untrained_lines(folder)
    for title, said in zip(titles, diagnosed(config, folder), strict=True):
        lines += [f"  {title}: {sentence}" for sentence in said]
    if kind.plans and (lost := lacks(folder)):
        lines.append(f"{lost}. To resume what has no result: python -m trainers resume {folder.id}")
    return "\n".join(lines)


def described(folder: RunFolder) -> dict[str, Any]:
    """Describe a run: where it is, how far it got, and the numbers over the whole test set by arm; a plan's tables."""
    from trainers.metrics.measures import final_numbers

    config, state = folder.config, folder.state()
    about = {"id": folder.id, "path": str(folder.path), "phase": state.phase, "step": state.step}
    about |= {"by_stage": kind_of(config).by_stage(folder), "seconds": state.seconds}
    if kind_of(config).plans:
        from trainers.plans.config import sweep_of
        from trainers.plans.report import part_json, report

        made = report(folder)
        about |= {"seeds": list(sweep_of(config).seeds), "without_result": made.missing}
        return about | {"parts": [part_json(part) for part in made.parts]}
    from trainers.retrieval.probe_results import diagnosed
    from trainers.retrieval.untrained.words import untrained_json

    titles, said = arm_titles(config), diagnosed(config, folder)
    numbers = final_numbers(folder.scalars(), len(titles))
    arms = zip(titles, numbers, said, strict=True)
    return about | {
        "arms": [{"title": title, "numbers": finals, "diagnosis": diagnosis} for title, finals, diagnosis in arms],
        "untrained": untrained_json(folder),
    }


def _refused(folder: RunFolder, state: RunState) -> bool:
    """Return whether a run failed before it trained, and would again: its sentence is all that is worth keeping.

    A full disk may have room later, and the log of what was unexpected says more.
    """
    if state.phase != "failed" or state.step or folder.snapshots():
        return False
    return not (state.error or "").startswith((DISK_FULL, UNEXPECTED))


def trained(folder: RunFolder, quiet: bool = False) -> RunState:
    """Train in this process, or in several that it starts; Ctrl-C writes a checkpoint and ends. Returns the final
    state.
    """
    config = folder.config
    count = 1 if kind_of(config).plans or processes() > 1 else kind_of(config).processes(config, folder.processes)
    with training_line(quiet) as tell:
        from trainers.worker import Worker, watch_signals

        words = _Words(folder)

        def show(state: RunState) -> None:
            tell(words.of(state), state.step / (state.planned_steps or state.step + 1))

        if (address() or _joined(folder)) and not kind_of(config).plans:
            return _on_the_cluster(folder, count, show)
        if count > 1:
            return _in_processes(folder, count, show)
        worker = Worker(folder, show)
        watch_signals(worker)
        return worker.run()


class _Words:
    """How far a training is, in a line: step, time left, newest number of every arm, images a second."""

    def __init__(self, folder: RunFolder) -> None:
        config = folder.config
        kind = kind_of(config)
        self._folder = folder
        self._arms = config.arms
        self._key = "" if kind.plans else next(iter(kind.headline(config)), "")
        self._title = kind.measures_of(config).describe(self._key).short if self._key else ""
        self._batch = 0 if kind.plans else kind.sizes(config).get("batch", 0)
        self._looked = float("-inf")
        self._number = ""

    def of(self, state: RunState) -> str:
        """Return the line."""
        return " · ".join(filter(None, [state.message, _left(state), self._newest(), self._speed(state)]))

    def _newest(self) -> str:
        if self._key and time.monotonic() - self._looked > 1.0:
            self._looked = time.monotonic()
            newest = self._folder.newest(self._key)
            values = [newest.get((arm, self._key)) for arm in range(self._arms)]
            known = " ".join("-" if value is None else f"{value:.3f}" for value in values)
            self._number = f"{self._title} {known}" if any(value is not None for value in values) else ""
        return self._number

    def _speed(self, state: RunState) -> str:
        per_second = state.step * self._batch / state.seconds if state.seconds > 1 else 0
        return f"{per_second:,.0f} images/s" if per_second else ""


def _left(state: RunState) -> str:
    """Return the time that is left, once some steps tell it."""
    if not state.planned_steps or not 5 <= state.step < state.planned_steps:
        return ""
    seconds = (state.planned_steps - state.step) * state.seconds / state.step
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min left" if hours else f"{minutes} min {rest} s left" if minutes else f"{rest} s left"


def _in_processes(folder: RunFolder, count: int, show: Callable[[RunState], None]) -> RunState:
    """Have so many processes train a run together, and follow how far they are."""
    from trainers.training.executor import ProcessExecutor, local_devices

    executor = ProcessExecutor(devices=local_devices(folder.config.single.device, 1))
    if (device := executor.free(count)) is None:
        raise RunError(f"{count} processes need as many GPUs; they are not there.")
    return _followed(folder, executor, device, show)


def _joined(folder: RunFolder) -> bool:
    """Return whether a cluster trains a run, or one of a plan, already; it goes on there."""
    from trainers.cluster.holding import joined
    from trainers.plans.children import children_of

    runs = children_of(folder) if kind_of(folder.config).plans else (folder,)
    if not any(has_record(run) and run.state().phase != "finished" and joined(run) for run in runs):
        return False
    print(f"rankscope: a Ray cluster has this run already; going on at {address()}.", file=sys.stderr)
    return True


def _on_the_cluster(folder: RunFolder, count: int, show: Callable[[RunState], None]) -> RunState:
    """Have a run trained by so many processes on the cluster, and follow how far it is; Ctrl-C ends the following."""
    from trainers.cluster.executor import ClusterExecutor
    from trainers.training.executor import Device

    if folder.is_alive():
        raise RunError(f"Run {folder.id} is being trained; the page and `list` show how far it is.")
    return _followed(folder, ClusterExecutor(runs=1), Device(processes=count), show)


def _followed(
    folder: RunFolder, executor: ProcessExecutor, device: Device, show: Callable[[RunState], None]
) -> RunState:
    leave = threading.Event()
    answer(leave.set)
    executor.launch(folder.path, device)
    try:
        while not (ended := executor.reap()):
            if leave.is_set():
                executor.ask()
            show(folder.state())
            time.sleep(LOOK_SECONDS)
    finally:
        executor.close()
    state = folder.state()
    if PHASES[state.phase].moving and leave.is_set():
        message = f"it trains on; to follow it: python -m trainers resume {folder.id} --ray {address()}"
        return dataclasses.replace(state, message=message)
    if PHASES[state.phase].moving:
        raise RunError(f"The processes ended before they trained (exit status {ended[0].code}): {ended[0].last_line}")
    if state.phase == "interrupted" and not leave.is_set():
        raise RunError(f"Run {folder.id} did not finish: {state.message}.")
    return state
