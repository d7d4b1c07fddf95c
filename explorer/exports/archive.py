"""A run as one zip file that opens again anywhere."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path

from explorer.server.run import Run
from trainers.brought.imported import HERE
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.runs.regular import is_regular, open_regular

PACKED = frozenset({".webp", ".safetensors", ".png", ".jpg"})  # already compressed
MOST_BYTES = 2**36  # of one file; no checkpoint is larger, and a file with holes in it may be
CHUNK = 2**20
"""Bytes that are read at once, and about as many in each part of the zip."""


def zip_chunks(run: Run, *, weights: bool) -> Generator[bytes, None, None]:
    """Pack the run folder, of a sweep with those of its runs, as a zip of ``<id>/...``, in parts as they are packed:
    nothing waits for the whole, and no copy of it is kept. Unpacked into a runs folder it is a run again.

    The database is copied in a consistent state before the first part, even while the run trains: every frame that it
    announces is then whole on disk. Locks, side files and the owner's digest stay behind. Files that are replaced or
    removed meanwhile are passed over.

    Args:
        weights: put the checkpoints in, so that training can be resumed; they are large.

    Raises:
        RunError: with the first part: the run is damaged, or a file is too large.
    """
    made = _Parts()
    folders = [run.folder, *kind_of(run.config).parts_of(run.folder)]
    with tempfile.TemporaryDirectory() as spare, zipfile.ZipFile(made, "w", strict_timestamps=False) as archive:
        for folder in folders:
            database = Path(spare) / f"{folder.id}.db"
            folder.db.copy_to(database)
            for file, name in ((database, "run.db"), *_files(folder, weights=weights)):
                with contextlib.suppress(FileNotFoundError):
                    for _ in _packed(archive, file, f"{folder.id}/{name}"):
                        if made.held >= CHUNK:
                            yield made.take()
            database.unlink(missing_ok=True)
    yield made.take()


def _packed(archive: zipfile.ZipFile, file: Path, name: str) -> Iterator[None]:
    """Add a file, a part at a time."""
    with open_regular(file, os.O_RDONLY) as source:
        about = zipfile.ZipInfo.from_file(file, name, strict_timestamps=False)
        about.compress_type = zipfile.ZIP_STORED if file.suffix in PACKED else zipfile.ZIP_DEFLATED
        # the sizes follow the content, so room for large ones is made beforehand
        with archive.open(about, "w", force_zip64=about.file_size > zipfile.ZIP64_LIMIT // 2) as into:
            while content := source.read(CHUNK):
                into.write(content)
                yield


def _files(folder: RunFolder, *, weights: bool) -> Iterator[tuple[Path, str]]:
    """Yield what is packed beside the database, and its name in the zip.

    Raises:
        RunError: a file is too large.
    """
    root = folder.path
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if weights or name != "ckpt")
        for name in sorted(names):
            file = Path(place) / name
            hidden = name.startswith((".", "run.db")) or name in HERE
            if hidden or not is_regular(file):
                continue
            with contextlib.suppress(FileNotFoundError):
                if file.lstat().st_size > MOST_BYTES:
                    raise RunError(f"The run {folder.id} cannot be packed: {file.name} is larger than 64 GB.")
                yield file, file.relative_to(root).as_posix()


class _Parts(io.RawIOBase):
    """The bytes that were written and not yet taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.held = 0

    def writable(self) -> bool:
        """See :class:`io.RawIOBase`."""
        return True

    def write(self, content: object) -> int:
        """See :class:`io.RawIOBase`."""
        part = bytes(content)  # type: ignore[call-overload]
        self._parts.append(part)
        self.held += len(part)
        return len(part)

    def take(self) -> bytes:
        """Return everything written since the last call."""
        parts, self._parts, self.held = self._parts, [], 0
        return b"".join(parts)
