"""The run that is pinned as a baseline beside the open one: which runs can be, and its numbers. Read-only."""

from __future__ import annotations

from typing import Any

from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.states import created
from explorer.server.titles import run_title
from explorer.tabs.live.view import metrics
from trainers.data.lru_cache import Cache
from trainers.errors import RunError, UserError
from trainers.kinds import arm_titles
from trainers.retrieval.baseline import paired, shared_images
from trainers.runs.damage import reading
from trainers.runs.records import PHASES

ROWS = 10_000
"""Numbers of a baseline in one reply."""
_KEPT = 4096
Json = dict[str, Any]


class Baselines:
    """Compares runs by their images, which do not change once they are read.

    Args:
        library: the runs.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._compared: Cache[tuple[bool, str]] = Cache(limit=_KEPT)

    def choices(self, run: Run) -> Json:
        """List the other runs on the same images, newest first, recordings last."""
        runs = []
        for folder in self._library.folders():
            try:
                with reading(folder.id, passed=UserError):
                    other = self._library.get(folder.id)
                    if other.id != run.id and not self._compare(run, other)[1]:
                        runs.append(_named(other))
            except UserError:
                continue  # damaged, or its images are not read yet
        return {"runs": runs}

    def numbers(self, run: Run, other_id: str, row: int) -> Json:
        """Return the numbers of another run beyond metrics row ``row``, and which of its arms each of the run's is
        compared with.

        ``why`` says in a sentence why it cannot be compared; then there is nothing else. ``more``: there are further
        numbers now; ``moving``: there may be later.
        """
        try:
            with reading(other_id[:40], passed=UserError):
                other = self._library.watch(other_id)
                whole, why = self._compare(run, other)
                if why:
                    return {"why": why}
                moving = PHASES[other.folder.state().phase].moving  # before the numbers: those of its end count too
                last, values, more = metrics(other, row, ROWS)
                return _named(other) | {
                    "why": None,
                    "whole": whole,
                    "arms": arm_titles(other.config),
                    "pairs": list(paired(arm_titles(run.config), arm_titles(other.config))),
                    "moving": moving,
                    "more": more,
                    "row": last,
                    "metrics": values,
                }
        except UserError as error:
            return {"why": str(error)}

    def _compare(self, run: Run, other: Run) -> tuple[bool, str]:
        """Return whether both maps show the same images and no other; and why the runs are on other images, or nothing.

        Raises:
            RunError: one is damaged, or its images are not read yet.
        """

        def compare() -> tuple[bool, str]:
            try:
                return shared_images(run.folder, other.folder).whole, ""
            except RunError:
                raise
            except UserError as error:
                return False, str(error)

        return self._compared.get((run.id, other.id), compare)


def _named(run: Run) -> Json:
    return {"id": run.id, "title": run_title(run), "recorded": run.recorded, "created": created(run.id)}
