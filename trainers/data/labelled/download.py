"""The download of a Hub dataset's files: several at a time, told in bytes and files, and ended when nobody waits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trainers.data.hf_logging import STILL_SECONDS, ThrottledError
from trainers.data.hub_step import Step
from trainers.data.labelled.repository import Repository, fetched
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
        self._steps: dict[str, Step[Path]] = {}
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
        self._steps[path] = Step(lambda: fetched(self._repository, path))

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
