"""What the tab keeps: the list of runs, read again only when one of them has moved."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence

from explorer.page.tab import Shared
from explorer.server.states import Json
from explorer.server.visitors import Caller
from explorer.tabs.runs.run_list import one_run, runs, runs_csv
from trainers.errors import RunError, UserError
from trainers.progress import interval
from trainers.runs import RunFolder
from trainers.runs.database import written
from trainers.runs.label import Label

LOOK_SECONDS = interval(1.0)
"""Between two looks at the folders, however many viewers ask."""


class RunList:
    """The runs, for many viewers."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self._lock = threading.Lock()
        self._seen = float("-inf")
        self._revision = ""
        self._read: tuple[str, list[Json]] = ("", [])

    def revision(self) -> str:
        """Return a word that changes when any run has: made of the times at which files were written."""
        with self._lock:
            if time.monotonic() - self._seen >= LOOK_SECONDS:
                self._revision, self._seen = self._look(), time.monotonic()
            return self._revision

    def cards(self) -> list[Json]:
        """Describe every run, see :func:`explorer.tabs.runs.run_list.runs`."""
        revision = self.look_again()
        if self._read[0] != revision:
            self._read = (revision, runs(self.shared.library, self.shared.runs))
        return self._read[1]

    def look_again(self) -> str:
        """Return the revision as it is now."""
        with self._lock:
            self._seen = float("-inf")
        return self.revision()

    def card(self, run_id: str, token: str, caller: Caller) -> Json | None:
        """Describe one run to a visitor; None: it is gone."""
        return one_run(self.shared.library, self.shared.runs, run_id, token, caller)

    def csv(self) -> str:
        """Write the list as CSV."""
        return runs_csv(self.cards())

    def label(self, run_id: str, token: str, label: Label, caller: Caller) -> Label:
        """Write name, note and tags of a run; returns them as they are kept."""
        return self.shared.runs.label(run_id, token, label, caller)

    def tag(self, run_ids: Sequence[str], tags: Sequence[str], token: str, caller: Caller) -> str:
        """Give tags to runs, beside those that they have; returns a sentence."""
        known = {card["id"]: card for card in self.cards()}

        def add(run_id: str) -> None:
            card = known.get(run_id, {"name": "", "note": "", "tags": []})
            label = Label(name=card["name"], note=card["note"], tags=(*card["tags"], *tags))
            self.shared.runs.label(run_id, token, label, caller)

        return _each(run_ids, add, "tagged")

    def delete(self, run_ids: Sequence[str], token: str, caller: Caller) -> str:
        """Delete runs; returns a sentence."""
        return _each(run_ids, lambda run_id: self.shared.runs.delete(run_id, token, caller), "deleted")

    def _look(self) -> str:
        folders = self.shared.library.folders()
        moving = {card["id"] for card in self._read[1] if card["moving"]}
        texts = [(folder.id, folder.read_only, self._stamps(folder, folder.id in moving)) for folder in folders]
        return hashlib.sha256(repr(texts).encode()).hexdigest()[:16]

    def _stamps(self, folder: RunFolder, moving: bool) -> tuple[object, ...]:
        """Return what differs when a run does. A trainer that has died writes nothing: one that moves is asked."""
        files = [_written_at(folder, name) for name in ("label.json", "config.json")]
        phase = ""
        if moving:
            try:
                phase = self.shared.library.get(folder.id).folder.state().phase
            except RunError:
                phase = "damaged"
        return (written(folder.path), *files, phase, self.shared.runs.kept(folder))


def _written_at(folder: RunFolder, name: str) -> int:
    try:
        return (folder.path / name).stat().st_mtime_ns
    except OSError:
        return 0


def _each(run_ids: Sequence[str], act: Callable[[str], object], done: str) -> str:
    """Do something with each of some runs, and say with how many; the first that is refused ends it.

    Raises:
        UserError: no run is given, or the first one is refused.
    """
    if not run_ids:
        raise UserError("Choose runs first.")
    for count, run_id in enumerate(run_ids):
        try:
            act(run_id)
        except (UserError, OSError) as error:
            if not count:
                raise
            return f"{_counted(count)} {done}; the next one was not. {error}"
    return f"{_counted(len(run_ids))} {done}."


def _counted(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"
