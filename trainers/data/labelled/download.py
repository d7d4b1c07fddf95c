"""The download of a Hub dataset's files, or of a part of them, told in bytes and files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainers.config import DataChoice
from trainers.data.hf_errors import explained
from trainers.data.hub_requests import STILL_SECONDS, BackgroundStep, ThrottledError
from trainers.data.labelled.opening import bound, prepared_splits
from trainers.data.labelled.repository import Repository, fetched
from trainers.data.labelled.selection import select
from trainers.data.labelled.splits import pick_splits
from trainers.data.labelled.table import MOST_ROWS, Splits
from trainers.errors import DataError
from trainers.progress import Progress

PATIENCE_SECONDS = 330
"""The longest that a throttling Hub is waited for at a time; its windows are five minutes."""
_AT_ONCE = 4
_POLL_SECONDS = 0.2
_UNITS = ((1e9, "GB", 2), (1e6, "MB", 1), (1e3, "kB", 0))


class Download:
    """Downloads files of a dataset into the cache of ``huggingface_hub``, those that are not in it yet.

    Args:
        sizes: bytes of the files by path in the dataset.
        copy: the folder of the cache for this dataset.
        progress: called several times a second; what it raises ends the download.
        still: seconds without a byte after which it is given up.
    """

    def __init__(
        self,
        repository: Repository,
        sizes: Mapping[str, int],
        copy: Path,
        progress: Progress,
        still: float = STILL_SECONDS,
    ) -> None:
        self._repository = repository
        self._sizes = sizes
        self._blobs = copy / "blobs"
        self._progress = progress
        self._still = still
        self._total = sum(sizes.values())
        self._pending = [path for path in sizes if not (copy / "snapshots" / repository.sha / path).exists()]
        self._done = len(sizes) - len(self._pending)
        self._bytes = self._total - sum(sizes[path] for path in self._pending)
        self._steps: dict[str, BackgroundStep[Path]] = {}
        self._seen, self._moved = -1, time.monotonic()

    def run(self) -> None:
        """Download the files.

        Raises:
            DataError: refused by the Hub, or nothing has come for too long.
        """
        self._pending.reverse()  # the first is taken from the end
        try:
            while self._pending or self._steps:
                while self._pending and len(self._steps) < _AT_ONCE:
                    self._begin(self._pending.pop())
                next(iter(self._steps.values())).ended(_POLL_SECONDS)
                for path in [path for path, step in self._steps.items() if step.ended(0)]:
                    self._end(path)
                self._tell()
        finally:
            for step in self._steps.values():
                step.give_up()

    def _begin(self, path: str) -> None:
        self._steps[path] = BackgroundStep(lambda: fetched(self._repository, path))

    def _end(self, path: str) -> None:
        try:
            self._steps.pop(path).result()
        except ThrottledError as error:
            self._wait(error)
            self._pending.append(path)
        else:
            self._done += 1
            self._bytes += self._sizes[path]

    def _tell(self) -> None:
        here = min(self._total, self._bytes + sum(map(_size, self._blobs.glob("*.incomplete"))))
        if here != self._seen:
            self._seen, self._moved = here, time.monotonic()
        got = f"{_amount(here)} of {_amount(self._total)}"
        if self._steps and time.monotonic() - self._moved > self._still:
            raise DataError(
                f"The download of {self._repository.name!r} has stood still for {self._still:g} s at {got}. Try "
                "again: the files that have come are kept."
            )
        files = f"{self._done:,} of {len(self._sizes):,} {'file' if len(self._sizes) == 1 else 'files'}"
        self._report(f"{got}, {files}")

    def _wait(self, error: ThrottledError) -> None:
        """Wait as long as the Hub asks, and say so."""
        if error.seconds is None or error.seconds > PATIENCE_SECONDS:
            raise error
        end = time.monotonic() + error.seconds
        while (left := end - time.monotonic()) > 0:
            self._report(f"the Hub was asked too often from here, going on in {left:.0f} s")
            time.sleep(min(_POLL_SECONDS, left))
        self._moved = time.monotonic()

    def _report(self, words: str) -> None:
        share = max(self._seen, self._bytes) / self._total if self._total else 0.0
        self._progress(f"Downloading {self._repository.name}: {words}", min(0.99, share))


def _size(path: Path) -> int:
    with suppress(OSError):  # a part that was just renamed
        return path.stat().st_size
    return 0


def _amount(count: float) -> str:
    unit, name, digits = next((each for each in _UNITS if count >= each[0]), _UNITS[-1])
    return f"{count / unit:.{digits}f} {name}"


_ROWS = 2
"""Rows that are read for each image of the cap: where classes are held out, half of those of a split are left out."""
_CLASSES, _FEWEST, _IMAGES = 32, 4, 8
"""No further file is fetched where there are so many classes to train on and to test on, or one for eight images of a
smaller cap, but four: files may be sorted by class."""
_MORE = 8
"""Times the rows first wanted, at which it ends without so many classes."""


@dataclass(frozen=True, kw_only=True)
class Shards:
    """The parquet files of a dataset's splits.

    Attributes:
        files: paths in the repository, by split.
        features: of the rows, a ``datasets.Features``; None: as the files say.
        rows: those of each split, as far as the dataset's card says.
        copy: where ``huggingface_hub`` keeps the files.
        prepare: reads a builder's files; slow.
        refuse: raises for more bytes than may be downloaded.
    """

    repository: Repository
    files: Mapping[str, Sequence[str]]
    features: Any
    rows: Mapping[str, int]
    copy: Path
    prepare: Callable[[Any, Progress], None]
    refuse: Callable[[int], None]

    def read(self, choice: DataChoice, levels: tuple[str, ...] | None, progress: Progress) -> Splits:
        """Fetch and read as many files of the splits in use as the cap of ``choice`` needs.

        Which they are follows from the commit and the choice alone, not from what is on this machine.

        Raises:
            DataError: refused by the Hub, too large, or without rows.
        """
        splits = [name for name in pick_splits(list(self.files), choice.train_split, choice.test_split) if name]
        order = {name: self._order(name, choice.seed) for name in splits}
        self._fetch([order[name][0] for name in splits], progress)
        first = {name: max(1, self._count(order[name][:1])) for name in splits}
        times = 1
        while True:
            most = {name: math.ceil(_ROWS * choice.max_images * times / first[name]) for name in splits}
            chosen = {name: order[name][: most[name]] for name in splits}
            self._fetch([path for paths in chosen.values() for path in paths], progress)
            read = self._tables(chosen, progress)
            whole = all(len(chosen[name]) == len(order[name]) for name in splits)
            if whole or times >= _MORE or _enough(read, choice, levels):
                return read
            times *= 2

    def _order(self, split: str, seed: int) -> list[str]:
        paths = sorted(self.files[split])
        return [paths[at] for at in np.random.default_rng(seed).permutation(len(paths))]

    def _fetch(self, paths: Sequence[str], progress: Progress) -> None:
        sizes = {path: self.repository.files[path] for path in paths}
        self.refuse(sum(sizes.values()))
        Download(self.repository, sizes, self.copy, progress).run()

    def _here(self, path: str) -> Path:
        return self.copy / "snapshots" / self.repository.sha / path

    def _count(self, paths: Sequence[str]) -> int:
        import pyarrow.parquet

        with explained(self.repository.name):
            return sum(pyarrow.parquet.read_metadata(self._here(path)).num_rows for path in paths)

    def _tables(self, chosen: Mapping[str, Sequence[str]], progress: Progress) -> Splits:
        import datasets

        name = self.repository.name
        files = {split: [str(self._here(path)) for path in sorted(paths)] for split, paths in chosen.items()}
        with explained(name):
            builder = bound(datasets.load_dataset_builder("parquet", data_files=files, features=self.features), name)
        self.prepare(builder, progress)
        with explained(name):
            read = prepared_splits(builder, (Path(builder.cache_dir), self.copy))
        notes = []
        for split, table in read.tables.items():
            if len(chosen[split]) < len(self.files[split]):
                table.whole = max(len(table), self._whole(split, chosen[split], len(table)))
                taken = f"{len(chosen[split]):,} of {len(self.files[split]):,} files"
                notes.append(f"{taken} of {split!r} are read: {len(table):,} of about {table.whole:,} rows.")
        return replace(read, notes=(*read.notes, *notes))

    def _whole(self, split: str, chosen: Sequence[str], rows: int) -> int:
        """Return the rows of a split: as the card says, or estimated from the bytes of those that were read."""
        sizes = self.repository.files
        share = sum(sizes[path] for path in self.files[split]) / max(1, sum(sizes[path] for path in chosen))
        return self.rows.get(split) or round(rows * share)


def _enough(splits: Splits, choice: DataChoice, levels: tuple[str, ...] | None) -> bool:
    try:
        selection = select(splits, replace(choice, max_images=MOST_ROWS), levels)  # classes before the cap
    except DataError:  # of too few classes, say
        return False
    wanted = min(_CLASSES, max(_FEWEST, choice.max_images // _IMAGES))
    parts = (selection.train, selection.test)
    return not selection.labelled or all(len(np.unique(part.labels[:, 0])) >= wanted for part in parts)
