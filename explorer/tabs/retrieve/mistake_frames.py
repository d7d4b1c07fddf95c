"""The results of every arm of a run at one frame, as the section "Mistakes" reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.server.run import Run
from trainers.errors import RunError
from trainers.kinds import arm_titles
from trainers.retrieval.mistakes import Mistakes, mistakes
from trainers.retrieval.probe_results import labelled_probe_of, newest_embeddings, probe_results, roles_of
from trainers.runs.reader import RunReader
from trainers.runs.records import Probe

CONFUSIONS = 40
"""Confusions of an arm in an answer."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The results of every arm of a run at one frame.

    Attributes:
        k: the frame; ``step``: of the training.
        arms: numbers of the arms that have results; ``titles``: of each of these.
        ids: int64 ``[P, results]`` of each of these arms; ``mistakes``: theirs.
        diverged: titles of the other arms, by number.
        among: rows of the queries that are counted; None: all.
    """

    k: int
    step: int
    probe: Probe
    arms: list[int]
    titles: list[str]
    ids: list[np.ndarray]
    mistakes: list[Mistakes]
    diverged: dict[int, str]
    among: np.ndarray | None = None


def frame_at(run: Run, step: int | None) -> tuple[str, int, int]:
    """Find a run's newest frame at or before a step: the run, the frame, and when it was written.

    Raises:
        RunError: it has none.
    """
    folder = run.folder
    if step is None:
        k = newest_embeddings(folder)
    else:
        frames = folder.frame_steps() or [(k, at) for k, at, _ in folder.snapshots()]
        before = [k for k, at in frames if at <= step]
        if not before:
            raise RunError(f"The run {run.id} has no results at step {step:,} or before. Choose a later step.")
        k = before[-1]
    return run.id, k, _written(folder, k)


def _written(folder: RunReader, k: int) -> int:
    stamps = [path.stat().st_mtime_ns for path in (folder.frame_path(k), folder.embeddings_path(k)) if path.is_file()]
    return max(stamps, default=0)


def read_frame(folder: RunReader, k: int, count: int, among: np.ndarray | None = None) -> Frame:
    """Read the first ``count`` results of every arm at frame ``k``, and their mistakes.

    Args:
        among: rows of the queries that are counted; None: all.

    Raises:
        RunError: the run is damaged, shows a single image, or the training of every arm diverged.
    """
    probe, titles = labelled_probe_of(folder), arm_titles(folder.config)
    results = dict(enumerate(probe_results(folder, k, count)))
    finite = {arm: ids for arm, ids in results.items() if ids is not None}
    if not all(ids.shape[1] for ids in finite.values()):
        raise RunError(f"The run {folder.id} shows a single image: there is none to find.")
    steps = {at: step for at, step, _ in folder.snapshots()} | dict(folder.frame_steps())
    return Frame(
        k=k,
        step=steps.get(k, 0),
        probe=probe,
        arms=list(finite),
        titles=[titles[arm] for arm in finite],
        ids=list(finite.values()),
        mistakes=[
            mistakes(ids, probe.labels, most=CONFUSIONS, among=among, roles=roles_of(probe)) for ids in finite.values()
        ],
        diverged={arm: titles[arm] for arm in results if arm not in finite},
        among=among,
    )
