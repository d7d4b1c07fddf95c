"""The runs that the page can show: own ones in the runs folder, and recorded ones that ship with the program."""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import torch

from explorer.server.run import Run
from trainers.data.lru_cache import Cache, CostLimit
from trainers.errors import RunError
from trainers.metrics.neighbours import nearest_images
from trainers.runs import RunFolder, is_id, list_runs
from trainers.runs.damage import damaged, reading
from trainers.runs.records import Frame
from trainers.runs.regular import is_regular

_TIME = 10  # letters of an id that say when; those of a plan and of its runs are the same
MEGABYTE = 2**20
READ_AGAIN = 64 * MEGABYTE
"""Most bytes kept of what could be read again: maps, coordinates, embeddings, images of datasets."""


MANY = 10_000
"""Of more points the nearest of all are not searched again for a page."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a library holds open, and for how long.

    Attributes:
        runs: of which something is kept; of one that nobody watches a few kilobytes, for the list.
        databases: most held open; each is up to three files. Of more that are watched, the others are opened when
            needed.
        watched: seconds after which a run is watched no more; a page that shows one polls it at least every five.
        sweep: seconds between two sweeps that close what nobody watches.
    """

    runs: int = 512
    databases: int = 16
    watched: float = 15.0
    sweep: float = 2.0


def open_folder(root: Path, run_id: str, *recorded: Path) -> RunFolder:
    """Open the folder of a run in ``root``, or of a recording; an own one wins over a recording of the same id.

    Args:
        recorded: folders of recordings.

    Raises:
        RunError: no such run, half-deleted, damaged or of another version.
    """
    try:
        return RunFolder.open(root, run_id)
    except RunError:
        for folder in recorded if is_id(run_id) else ():
            if is_regular(folder / run_id / "config.json"):
                return RunFolder.open(folder, run_id, read_only=True)
        raise


def folders(root: Path, recorded: Path) -> list[RunFolder]:
    """Own runs, newest first, then recordings, newest first. They may be damaged."""
    trained = list_runs(root)
    taken = {folder.id for folder in trained}
    every = trained + [folder for folder in list_runs(recorded, read_only=True) if folder.id not in taken]
    return list(_plans_in_order(every))


def _plans_in_order(folders: list[RunFolder]) -> Iterator[RunFolder]:
    """Yield the same, but the runs of a plan by their place in it: they have one time, and their ids no order."""
    for _, together in groupby(folders, key=lambda folder: (folder.read_only, folder.id[:_TIME])):
        alike = list(together)
        yield from sorted(alike, key=lambda folder: _counted(folder.place_in_plan)) if len(alike) > 1 else alike


def _counted(title: str) -> list[tuple[float, str]]:
    """Return a key by which seed 2 comes before seed 10."""
    words = re.split(r"(\d+(?:\.\d+)?)", title)
    return [(float(word), "") if at % 2 else (-1.0, word) for at, word in enumerate(words)]


class Library:
    """Finds runs by id and reads them, for many viewers at once.

    Args:
        root: folder of the own runs; need not exist yet.
        recorded: folder of the recordings; nothing is ever written there.
        opened: folder of further recordings, which are opened by their ids and not listed; None: there is none.
        limits: what it holds open; None: the usual ones.
    """

    def __init__(self, root: Path, recorded: Path, opened: Path | None = None, *, limits: Limits | None = None) -> None:
        self.root = root
        self.recorded = recorded
        self._recordings = (recorded,) if opened is None else (recorded, opened)
        self._limits = limits or Limits()
        self._runs: Cache[Run] = Cache(limit=self._limits.runs, dropped=Run.let_go)
        self._made: weakref.WeakSet[Run] = weakref.WeakSet()  # those that were dropped and are still used, too
        self.room = CostLimit(READ_AGAIN)
        self._coordinates: Cache[bytes] = Cache(limit=self.room, cost=len)
        self._neighbours: Cache[tuple[np.ndarray, ...]] = Cache(
            limit=self.room, cost=lambda lists: sum(ids.nbytes for ids in lists)
        )
        self._frames: Cache[Frame] = Cache(limit=self.room, cost=_frame_bytes)
        self._embeddings: Cache[tuple[np.ndarray, ...]] = Cache(
            limit=self.room, cost=lambda arms: sum(arm.nbytes for arm in arms)
        )
        self._lock = threading.Lock()
        self._sweep: threading.Timer | None = None
        self._closed = False

    def watch(self, run_id: str) -> Run:
        """Open a run that is being viewed; its database stays open until nobody has viewed it for a while.

        Raises:
            RunError: as :meth:`get`.
        """
        run = self.get(run_id)
        run.watched = time.monotonic()
        return run

    def get(self, run_id: str) -> Run:
        """Open a run for a moment.

        Raises:
            RunError: as :func:`open_folder`.
        """
        self._sweep_later()
        run = self._runs.get(run_id, lambda: self._opened(run_id))
        if not run.folder.present:
            self._runs.drop(run_id)
            run.folder.check()
        return run

    def folders(self) -> list[RunFolder]:
        """List the runs and recordings, see :func:`folders`."""
        return folders(self.root, self.recorded)

    def frame(self, run: Run, k: int) -> Frame:
        """Return the maps of snapshot ``k``.

        Raises:
            RunError: there is none, or it is damaged.
        """
        return self._frames.get(self._key(run, k), lambda: _read_frame(run, k))

    def coordinates(self, run: Run, k: int) -> bytes:
        """Return for each arm ``P x 2`` little-endian uint16, x and y interleaved: ``4 * P * arms`` bytes.

        Raises:
            RunError: there is no frame ``k``, or it is damaged.
        """
        return self._coordinates.get(self._key(run, k), lambda: _encode(_read_frame(run, k)))

    def version(self, run: Run, k: int) -> str:
        """Return a word that changes when frame ``k`` is written again.

        Raises:
            RunError: there is no frame ``k``.
        """
        return f"{k}-{self._key(run, k)[2]:x}"

    def embeddings(self, run: Run, k: int) -> tuple[np.ndarray, ...] | None:
        """Read the embeddings of every arm at snapshot ``k``, float16 ``[P, D]``; None where they were not kept."""
        path = run.folder.embeddings_path(k)
        if not is_regular(path):
            return None
        with reading(run.id):
            key = (run.id, k, path.stat().st_mtime_ns)
        return self._embeddings.get(key, lambda: run.folder.embeddings(k))

    def neighbours(self, run: Run, k: int, count: int) -> tuple[np.ndarray, ...]:
        """Return for each arm the ``count`` nearest points of every point at frame ``k``, int ``[P, K]``.

        They are exact and in the order of the metrics where the embeddings are kept and the points are at most
        :data:`MANY`, else those that the map was made of.

        Raises:
            RunError: there is no frame ``k``, or it is damaged.
        """
        return self._neighbours.get((*self._key(run, k), count), lambda: self._search(run, k, count))

    def _search(self, run: Run, k: int, count: int) -> tuple[np.ndarray, ...]:
        stored = tuple(arm.neighbours[:, :count] for arm in self.frame(run, k).arms)
        embeddings, probe = self.embeddings(run, k), run.probe
        if embeddings is None or probe is None or len(probe.labels) > MANY:
            return stored
        return tuple(
            nearest_images(torch.from_numpy(rows.astype(np.float32)), probe.labels, count)
            if np.isfinite(rows).all()
            else ids
            for ids, rows in zip(stored, embeddings, strict=True)
        )

    def close_unwatched(self) -> int:
        """Let go of the runs that nobody has watched for a while; returns how many databases are still open.

        Of more than :attr:`Limits.databases` those are closed that were watched longest ago.
        """
        with self._lock:
            made = sorted(self._made, key=lambda run: run.watched, reverse=True)
        since = time.monotonic() - self._limits.watched
        for run in made:
            if run.watched < since:
                run.let_go()  # whoever uses it at this moment opens it again
        open_ = [run for run in made if run.folder.db.is_open]
        most = self._limits.databases
        for run in open_[most:]:
            run.folder.db.close()
        return len(open_[:most])

    def close(self) -> None:
        """Close every database and empty the caches."""
        with self._lock:
            self._closed = True
            if self._sweep is not None:
                self._sweep.cancel()
        for cache in (self._runs, self._coordinates, self._frames, self._embeddings, self._neighbours):
            cache.clear()

    def _opened(self, run_id: str) -> Run:
        run = Run(open_folder(self.root, run_id, *self._recordings))
        run.folder.db.on_open = self._sweep_later  # also by an answer that took longer than the last sweep
        with self._lock:
            self._made.add(run)
        return run

    def _sweep_later(self) -> None:
        """Start the timer that closes databases, so that they are closed even if no further request arrives."""
        with self._lock:
            if self._sweep is None and not self._closed:
                self._sweep = threading.Timer(self._limits.sweep, self._swept)
                self._sweep.daemon = True
                self._sweep.start()

    def _swept(self) -> None:
        with self._lock:
            self._sweep = None
        if self.close_unwatched():
            self._sweep_later()

    def _key(self, run: Run, k: int) -> tuple[str, int, int]:
        # the time of writing is in the key because a resumed run may write a frame of the same number again
        try:
            return run.id, k, run.folder.frame_path(k).stat().st_mtime_ns
        except OSError as error:
            raise RunError(f"The run {run.id} has no frame {k}.") from error


def _read_frame(run: Run, k: int) -> Frame:
    """Read frame ``k``, which shows the points of the run's probe where that is known."""
    frame = run.folder.frame(k)
    if run.probe is not None and len(run.probe.labels) != len(frame.arms[0].xy):
        raise damaged(run.id, f"the maps of frame {k} have other points than the probe")
    return frame


def _encode(frame: Frame) -> bytes:
    return b"".join(np.ascontiguousarray(arm.xy, dtype="<u2").tobytes() for arm in frame.arms)


def _frame_bytes(frame: Frame) -> int:
    return sum(arm.xy.nbytes + arm.neighbours.nbytes for arm in frame.arms)
