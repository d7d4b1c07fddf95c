"""Training with a progress bar, for the command line."""

from __future__ import annotations

from tqdm import tqdm

from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.records import RunState
from trainers.worker import Worker, watch_signals


def train_with_bar(folder: RunFolder) -> RunState:
    """Train a run in this process with a progress bar; Ctrl-C writes a checkpoint and ends. Returns the final state."""
    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}", disable=None) as bar:

        def show(state: RunState) -> None:
            if state.planned_steps:
                bar.n = min(100, round(100 * state.step / state.planned_steps))
            bar.set_postfix_str(state.message)

        worker = Worker(folder, show)
        watch_signals(worker)
        return worker.run()


def train_to_end(folder: RunFolder) -> None:
    """The same for a run that is useless unless it is finished.

    Raises:
        RunError: it did not finish.
    """
    state = train_with_bar(folder)
    if state.phase != "finished":
        raise RunError(f"The training ended as {state.phase}: {state.error or state.message}.")
