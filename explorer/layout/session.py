"""One run that is being laid out."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from explorer.layout.frames import Layouter
from explorer.layout.plan import LATE, next_snapshot
from explorer.layout.warm import Warmth
from trainers.errors import RunError
from trainers.store import RunFolder
from trainers.types import ACTIVE, Frame, Snapshot

_log = logging.getLogger(__name__)


class Session:
    """Lays out one run, a frame at a time. The folder is the truth: what it lost (a resumed run goes back to its
    checkpoint) is forgotten here too.

    Raises:
        RunError: the run cannot be written.
    """

    def __init__(self, folder: RunFolder) -> None:
        if not os.access(folder.path, os.W_OK):
            raise RunError(f"The run {folder.id} is read-only; its frames stay as they are.")
        self.folder = folder
        self._layouter = Layouter()
        self._last: int | None = None
        self._damaged: set[int] = set()

    def advance(self, warmth: Warmth) -> bool:
        """Make the next frame, if there is one to make. True if there may be another to make at once.

        Raises:
            RunError: the run was deleted or is damaged.
        """
        self._check_present()
        self._catch_up()
        entry = self._next()
        if entry is None:
            return False
        method = self._method(warmth)
        if method is None:
            return False
        k, step, seconds = entry
        try:
            embeddings = self.folder.embeddings(k)
        except RunError as error:
            # one lost file must not hold up the snapshots after it
            self._check_present()
            self._damaged.add(k)
            _log.warning("%s", error)
            return True
        snapshot = Snapshot(k=k, step=step, seconds=seconds, embeddings=embeddings)
        return self._add(self._layouter.next(snapshot, method), lambda: self._announced(k) == entry)

    def close(self) -> None:
        """Let go of the folder's database."""
        self.folder.db.close()

    def _check_present(self) -> None:
        if not (self.folder.path / "config.json").is_file():
            raise RunError(f"The run {self.folder.id} was deleted.")

    def _catch_up(self) -> None:
        """Go on from the newest stored frame if that is not the one made last."""
        newest = self._newest_frame()
        if newest is not None and self._announced(newest) is None:
            self.folder.db.write("DELETE FROM frames WHERE k NOT IN (SELECT k FROM snapshots)")
            newest = self._newest_frame()
        if newest == self._last:
            return
        previous: Frame | None = None
        if newest is not None:
            try:
                previous = self.folder.frame(newest)
            except RunError as error:
                _log.warning("%s The map starts anew.", error)
        self._layouter, self._last, self._damaged = Layouter(previous=previous), newest, set()

    def _next(self) -> tuple[int, int, float] | None:
        entries = {entry[0]: entry for entry in self.folder.snapshots() if entry[0] not in self._damaged}
        ks = list(entries)
        live = self.folder.db.state().phase in ACTIVE
        if live and len(ks) > LATE and (self._last is None or ks[-LATE - 1] > self._last):
            # far behind: is it really training, or did its trainer die and leave it to be filled in?
            live = self.folder.is_alive()
        k = next_snapshot(ks, self._last, live=live)
        return None if k is None else entries[k]

    def _method(self, warmth: Warmth) -> str | None:
        """None: wait for UMAP. A map shows PCA at once, but never goes back to it from UMAP while UMAP is on its way,
        and a run that has ended waits after its first map instead of filling in the rest with PCA."""
        if not warmth.warming:
            return warmth.method
        previous = self._layouter.previous
        if previous is None:
            return "pca"
        going_on = previous.arms[0].method == "pca" and self.folder.db.state().phase in ACTIVE
        return "pca" if going_on else None

    def _add(self, frame: Frame, still_there: Callable[[], bool]) -> bool:
        """Store a frame, unless its snapshot was rewound or its run deleted in the meantime."""
        self._last = frame.k
        self._check_present()
        if not still_there():
            return False
        try:
            self.folder.add_frame(frame)
        except (RunError, OSError):
            self._sweep(frame.k)
            raise
        if not still_there():
            self.folder.db.write("DELETE FROM frames WHERE k = ?", [(frame.k,)])
            return False
        return True

    def _sweep(self, k: int) -> None:
        """Leave nothing behind in a folder that was deleted while its frame was being written."""
        path = self.folder.path
        if (path / "config.json").is_file() or not path.is_dir():
            return
        (path / "layout" / f"{k:06d}.safetensors").unlink(missing_ok=True)
        for folder in (path / "layout", path):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _newest_frame(self) -> int | None:
        return self.folder.db.rows("SELECT MAX(k) FROM frames")[0][0]

    def _announced(self, k: int) -> tuple[int, int, float] | None:
        rows = self.folder.db.rows("SELECT k, step, seconds FROM snapshots WHERE k = ?", (k,))
        return rows[0] if rows else None
