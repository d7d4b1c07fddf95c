"""A run as one zip file that opens again anywhere."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from explorer.server.run import Run
from trainers.errors import RunError
from trainers.runs.regular import is_regular

PACKED = frozenset({".webp", ".safetensors", ".png", ".jpg"})  # already compressed
MOST_BYTES = 2**36  # of one file; no checkpoint is larger, and a file with holes in it may be
LEFT_OUT = frozenset({"ballast", "lock", "owner"})


def write_zip(run: Run, path: Path, *, weights: bool) -> None:
    """Write the run folder as ``<id>/...``; unpacked into a runs folder it is a run again.

    The database is copied in a consistent state even while the run trains; locks, side files and the owner's digest
    stay behind. Files that are replaced or removed meanwhile are passed over.

    Args:
        weights: put the checkpoints in, so that training can be resumed; they are large.
    """
    with (
        tempfile.TemporaryDirectory() as spare,
        zipfile.ZipFile(path, "w", allowZip64=True, strict_timestamps=False) as archive,
    ):
        # first the database: every frame that it announces was already whole on disk
        run.folder.db.copy_to(Path(spare) / "run.db")
        archive.write(Path(spare) / "run.db", f"{run.id}/run.db", zipfile.ZIP_DEFLATED)
        for file in _files(run.folder.path, weights=weights):
            method = zipfile.ZIP_STORED if file.suffix in PACKED else zipfile.ZIP_DEFLATED
            with contextlib.suppress(FileNotFoundError):
                if file.lstat().st_size > MOST_BYTES:
                    raise RunError(f"The run {run.id} cannot be packed: {file.name} is larger than 64 GB.")
                archive.write(file, f"{run.id}/{file.relative_to(run.folder.path).as_posix()}", method)


def _files(root: Path, *, weights: bool) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if weights or name != "ckpt")
        for name in sorted(names):
            file = Path(folder) / name
            hidden = name.startswith((".", "run.db")) or name in LEFT_OUT
            if not hidden and is_regular(file):
                yield file
