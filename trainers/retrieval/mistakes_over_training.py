"""The severity of results over the training of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.data.roles import Roles
from trainers.errors import RunError
from trainers.retrieval.mistakes import severity_shares
from trainers.retrieval.probe_results import labelled_probe_of, probe_results, roles_of
from trainers.runs.reader import RunReader
from trainers.runs.records import Probe


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The results of one arm at one frame: shares by levels agreed, float64 ``[L + 1]``, of the first and of k."""

    top1: np.ndarray
    topk: np.ndarray


Moments = list[Moment | None]
"""One per arm; None: its training had diverged."""


class MistakesOverTraining:
    """The shares of every stored frame of a run. A frame is read once; one that was written again is read again.

    Of a run whose maps were never drawn, the embeddings of its snapshots are read in their place.

    Args:
        folder: the run; nothing is written to it.
    """

    def __init__(self, folder: RunReader) -> None:
        self._folder = folder
        self._kept: dict[tuple[int, int], tuple[tuple[int, int], Moments]] = {}

    def series(self, k: int) -> list[tuple[int, int, Moments]]:
        """Return frame, step and a :class:`Moment` per arm, oldest first; frames that keep fewer than k results are
        left out.

        Raises:
            RunError: the run has no images with labels.
        """
        probe = labelled_probe_of(self._folder)
        moments = []
        drawn = self._folder.frame_steps()
        for frame, step in drawn or [(k, step) for k, step, _ in self._folder.snapshots()]:
            try:
                moments.append((frame, step, self._moments(frame, k, probe)))
            except RunError:
                self._kept.pop((frame, k), None)
        return moments

    def _moments(self, frame: int, k: int, probe: Probe) -> Moments:
        stamp = self._stamp(frame)
        kept = self._kept.get((frame, k))
        if kept is None or kept[0] != stamp:
            results, roles = probe_results(self._folder, frame, k), roles_of(probe)
            kept = self._kept[frame, k] = stamp, [_moment(ids, probe.labels, roles) for ids in results]
        return kept[1]

    def _stamp(self, frame: int) -> tuple[int, int]:
        folder = self._folder
        try:
            about = (folder.frame_path(frame) if folder.frames() else folder.embeddings_path(frame)).stat()
        except OSError as error:
            raise RunError(f"The run {folder.id} lacks frame {frame}.") from error
        return about.st_mtime_ns, about.st_size


def _moment(ids: np.ndarray | None, labels: np.ndarray, roles: Roles | None) -> Moment | None:
    if ids is None:
        return None
    top1, topk = severity_shares(ids, labels, roles)
    return Moment(top1=top1, topk=topk)
