"""The layout of one run."""

from __future__ import annotations

import bisect
import logging
import time
from collections.abc import Callable, Sequence

import numpy as np

from explorer.layout.frames import Layouter
from explorer.layout.measuring import Measurer
from explorer.layout.snapshots import LATE, missing, next_snapshot
from explorer.layout.warm import Warmth
from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.database import can_write
from trainers.runs.records import ACTIVE, PHASES, Frame, Snapshot, snapshot_of

_log = logging.getLogger(__name__)

SPARE_SECONDS, SPARE_SHARE = 2.0, 3.0  # while a run trains, what is missing takes a quarter of the time at most


class Session:
    """Lays out one run, a frame at a time. The folder holds the state: frames that a resumed run dropped are
    dropped here too.

    Raises:
        RunError: the run cannot be written.
    """

    def __init__(self, folder: RunFolder, now: Callable[[], float] = time.monotonic) -> None:
        if not can_write(folder.path):
            raise RunError(f"The run {folder.id} is read-only; its frames stay as they are.")
        self.folder = folder
        self._now = now
        self._spare = now() + SPARE_SECONDS
        self._layouter = Layouter()
        self._last: int | None = None
        self._labelled = False
        self._unrefined: set[int] = set()
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
            return self._fill_in(warmth)
        method = self._method(warmth)
        if method is None:
            return False
        snapshot = self._snapshot(entry)
        if snapshot is None:
            return True
        self._last = snapshot.k
        return self._add(self._layouter.next(snapshot, method), entry)

    def refine(self, warmth: Warmth) -> bool:
        """Make the refined map of a run that has ended and whose maps are all there; True if it was made.

        A finished run gets it unasked, unless an older version drew its maps; any other that has ended, when asked.

        Raises:
            RunError: the run was deleted or is damaged.
        """
        self._check_present()
        state, newest = self.folder.state(), self.folder.newest_map()
        if PHASES[state.phase].moving or newest is None or newest != self._last or warmth.method != "umap":
            return False
        numbers = self.folder.map_numbers
        if self.folder.refined_frame() is not None or newest in self._unrefined:
            return False
        if not (numbers.wished(newest) or (state.phase == "finished" and numbers.of(newest))):
            return False
        self._unrefined.add(newest)  # whatever comes of it: it is not tried again
        entry, snapshot = self.folder.announced(newest), self._snapshot_of(newest)
        if entry is None or snapshot is None:
            return False
        frame = self._layouter.refine(self.folder.frame(newest), snapshot)
        # a run that was resumed meanwhile has dropped its refined map, and shall not get it back
        return frame is not None and not PHASES[self.folder.state().phase].moving and self._add(frame, entry)

    def close(self) -> None:
        """Close the folder's database."""
        self.folder.db.close()

    def _check_present(self) -> None:
        if not self.folder.present:
            raise RunError(f"The run {self.folder.id} was deleted.")

    def _fill_in(self, warmth: Warmth) -> bool:
        """Draw skipped snapshots, the oldest first; rarely while the run trains."""
        live = self.folder.state().phase in ACTIVE
        if warmth.warming or (live and self._now() < self._spare):
            return False
        drawn = self.folder.frames()
        entries = self._entries()
        k = next(iter(missing(list(entries), set(drawn))), None)
        if k is None:
            return False
        begun = self._now()
        snapshot = self._snapshot(entries[k])
        more = True
        if snapshot is not None:
            frame = self._between(drawn, snapshot, warmth.method)
            more = self._add(frame, entries[k])
        self._spare = self._now() + max(SPARE_SECONDS, SPARE_SHARE * (self._now() - begun))
        return more and not live

    def _between(self, drawn: Sequence[int], snapshot: Snapshot, method: str) -> Frame:
        """Make the frame of a snapshot, on the way between the nearest frames that can be read."""
        index = bisect.bisect(drawn, snapshot.k)
        earlier, later = self._readable(drawn[:index][::-1]), self._readable(drawn[index:])
        if earlier is not None and later is not None and len(earlier.arms[0].xy) == len(later.arms[0].xy):
            return self._layouter.between(earlier, later, snapshot, method, self._snapshot_of(earlier.k))
        return Layouter(previous=earlier or later, measurer=Measurer(self._labels())).next(snapshot, method)

    def _readable(self, ks: Sequence[int]) -> Frame | None:
        for k in ks:
            try:
                return self.folder.frame(k)
            except RunError:
                continue
        return None

    def _snapshot(self, entry: tuple[int, int, float]) -> Snapshot | None:
        """Read a snapshot; None where its embeddings are lost, as one lost file must not hold up those after it."""
        k, step, seconds = entry
        try:
            return Snapshot(k=k, step=step, seconds=seconds, embeddings=self.folder.embeddings(k))
        except RunError as error:
            self._check_present()
            self._damaged.add(k)
            _log.warning("%s", error)
            return None

    def _entries(self) -> dict[int, tuple[int, int, float]]:
        return {entry[0]: entry for entry in self.folder.snapshots() if entry[0] not in self._damaged}

    def _catch_up(self) -> None:
        """Continue from the newest stored frame if that is not the one made last."""
        newest = self.folder.newest_frame()
        if newest is not None and self.folder.announced(newest) is None:
            self.folder.drop_rewound_frames()
            newest = self.folder.newest_frame()
        # the probe arrives after the run has begun; until then there are no labels to measure with
        if newest == self._last and (self._labelled or self._labels() is None):
            return
        previous: Frame | None = None
        if newest is not None:
            try:
                previous = self.folder.frame(newest)
            except RunError as error:
                _log.warning("%s The map starts anew.", error)
        labels = self._labels()
        self._labelled = labels is not None
        shown = None if previous is None else self._snapshot_of(previous.k)
        self._layouter = Layouter(previous=previous, measurer=Measurer(labels), shown=shown)
        self._last, self._damaged = newest, set()

    def _labels(self) -> np.ndarray | None:
        """Return the labels of the points; None before the data is read or where they cannot be: maps need none."""
        try:
            probe = self.folder.probe()
        except RunError:
            return None
        return None if probe is None else probe.labels

    def _snapshot_of(self, k: int) -> Snapshot | None:
        """Return the snapshot that map ``k`` shows; None where its embeddings are not kept."""
        entry = self.folder.announced(snapshot_of(k))
        if entry is None:
            return None
        try:
            return Snapshot(k=entry[0], step=entry[1], seconds=entry[2], embeddings=self.folder.embeddings(entry[0]))
        except RunError:
            return None

    def _next(self) -> tuple[int, int, float] | None:
        entries = self._entries()
        ks = list(entries)
        live = self.folder.db.state().phase in ACTIVE
        if live and len(ks) > LATE and (self._last is None or ks[-LATE - 1] > self._last):
            # far behind: is it really training, or did its trainer die and leave it to be filled in?
            live = self.folder.is_alive()
        k = next_snapshot(ks, self._last, live=live)
        return None if k is None else entries[k]

    def _method(self, warmth: Warmth) -> str | None:
        """Choose the method of the next map; None: wait for UMAP. A map shows PCA at once, but never goes back to it
        from UMAP while UMAP is on its way, and a run that has ended waits after its first map instead of filling in the
        rest with PCA.
        """
        if not warmth.warming:
            return warmth.method
        previous = self._layouter.previous
        if previous is None:
            return "pca"
        going_on = previous.arms[0].method == "pca" and self.folder.db.state().phase in ACTIVE
        return "pca" if going_on else None

    def _add(self, frame: Frame, entry: tuple[int, int, float]) -> bool:
        """Store a frame, unless its snapshot was rewound or its run deleted in the meantime."""
        self._check_present()
        if self.folder.announced(snapshot_of(frame.k)) != entry:
            return False
        try:
            self.folder.add_frame(frame)
        except (RunError, OSError):
            self._sweep(frame.k)
            raise
        if self.folder.announced(snapshot_of(frame.k)) != entry:
            self.folder.drop_frame(frame.k)
            return False
        return True

    def _sweep(self, k: int) -> None:
        """Remove what was written into a folder that was deleted while its frame was being written."""
        path = self.folder.path
        if self.folder.present or not path.is_dir():
            return
        (path / "layout" / f"{k:06d}.safetensors").unlink(missing_ok=True)
        for folder in (path / "layout", path):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
