"""The comparisons of the Hub that were opened: recordings in a folder of their own, the newest ones."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from trainers.errors import DataError
from trainers.progress import Progress
from trainers.publishing.comparison import ORIGIN, reopen
from trainers.publishing.upload import fetch
from trainers.runs import RunFolder, list_runs
from trainers.runs.atomic_files import sweep
from trainers.runs.folder import remove

KEPT = 24
"""Comparisons that stay on the disk; those opened longest ago go first."""


class OpenedComparisons:
    """Opens them, one at a time once they are fetched.

    Args:
        root: made when the first one is opened.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()

    def open(self, name: str, progress: Progress) -> str:
        """Fetch a comparison, ``owner/name`` or ``owner/name@revision``, and return the id of its plan here.

        Raises:
            DataError: there is none, or it cannot be opened; with what to do.
        """
        file, repository = fetch(name, progress)
        progress(f"Reading {repository.name}", 0.9)
        try:
            with self._lock:
                self._root.mkdir(parents=True, exist_ok=True)
                sweep(self._root)
                run_id = reopen(file, repository.name, repository.sha, self._root)
                os.utime(self._root / run_id / ORIGIN, ns=(time.time_ns(), time.time_ns()))  # finer than the disk's
                self._forget()
        except OSError as error:
            raise DataError(f"{repository.name!r} cannot be kept on this disk: {error.strerror}.") from error
        return run_id

    def _forget(self) -> None:
        opened = {folder.id: folder for folder in list_runs(self._root, read_only=True)}
        plans = [run for run in opened.values() if (run.path / ORIGIN).is_file()]
        plans.sort(key=lambda plan: (plan.path / ORIGIN).stat().st_mtime, reverse=True)
        kept = {plan.id for plan in plans[:KEPT]}
        for run in sorted(opened.values(), key=lambda run: not _is_plan(run)):  # a plan first: it is whole or gone
            if (run.part_of or run.id) not in kept:
                run.db.close()
                remove(run.path)


def _is_plan(run: RunFolder) -> bool:
    return not run.part_of
