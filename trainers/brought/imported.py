"""Runs from the zip of a download, made elsewhere: nothing in it is trusted.

Only ordinary files of run folders are taken, under names that such files have; the database has to be one that this
program makes, and everything in it and beside it is read once before the run appears. Nothing of it trains by itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import shutil
import stat
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from lzma import LZMAError
from pathlib import Path

from trainers.errors import DataError, DiskFullError, RunError, UserError
from trainers.kinds import kind_of
from trainers.progress import Progress, silent
from trainers.runs.atomic_files import is_full, scratch
from trainers.runs.checked import is_id
from trainers.runs.copies import CHUNK, FILE_NAME, ROOM
from trainers.runs.database import schema, schema_of
from trainers.runs.folder import RunFolder, created
from trainers.runs.maps import TABLES
from trainers.runs.records import PHASES

MOST_FILES = 200_000
MOST_RUNS = 600
"""Of one zip: a sweep and its runs."""
MOST_BYTES = 2**36
"""Of all files together, unpacked."""
HERE = frozenset({"ballast", "lock", "owner", "tracker"})
"""Files of a run folder that belong to the place where it lies: no download holds them, and what a zip has of them is
left in it."""


def import_zip(file: Path, root: Path, tell: Progress = silent) -> list[str]:
    """Make runs of the zip of a download: a run, or a sweep with its runs.

    Args:
        file: the zip that the page's Download gave.
        root: folder of the runs.

    Returns:
        the ids; that of a sweep first.

    Raises:
        DataError: it holds no run that can be opened, or one that is here already; says why. Nothing is left of it.
    """
    root.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(file) as archive, scratch(root) as spare:
            members = _members(archive, root)
            ids = sorted({name.partition("/")[0] for name in members})
            for run_id in ids:
                if (root / run_id).exists():
                    raise DataError(f"The run {run_id} is here already. Delete it first to import it again.")
            _unpack(archive, members, spare, tell)
            folders = [_checked(spare / run_id) for run_id in ids]
            plans = {folder.id for folder in folders if kind_of(folder.config).plans}
            for folder in folders:
                if folder.part_of and (folder.part_of not in plans or folder.id in plans):
                    (folder.path / "part_of").unlink()  # of a sweep that stays elsewhere it is a run of its own
            folders.sort(key=lambda folder: bool(folder.part_of))
            _moved(folders[::-1], root)  # a sweep last: it is whole then
            return [folder.id for folder in folders]
    except UserError as error:
        raise DataError(f"{file.name} cannot be imported: {error}") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        LZMAError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        EOFError,
    ) as error:
        raise DataError(f"{file.name} cannot be imported: it is no zip file that can be read ({error}).") from error
    except OSError as error:
        if is_full(error):
            raise DiskFullError(f"There is no room to import {file.name}.") from error
        raise DataError(f"{file.name} cannot be imported: {error.strerror or error}.") from error


def _moved(folders: Sequence[RunFolder], root: Path) -> None:
    """Move runs to their place: all or none."""
    moved: list[Path] = []
    try:
        for folder in folders:
            folder.path.rename(root / folder.id)
            moved.append(root / folder.id)
    except OSError:
        for path in moved:
            shutil.rmtree(path, ignore_errors=True)
        raise


def is_download(file: Path) -> bool:
    """Return whether a zip is one that :func:`import_zip` may read: a folder named like a run has settings."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = (name.split("/") for name in archive.namelist()[:MOST_FILES])
            return any(len(parts) == 2 and is_id(parts[0]) and parts[1] == "config.json" for parts in names)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _members(archive: zipfile.ZipFile, root: Path) -> Mapping[str, zipfile.ZipInfo]:
    """Return the files of the zip by name.

    Raises:
        DataError: one has a name that no file of a run has, or they are too many or too large.
    """
    every = [about for about in archive.infolist() if not about.is_dir() and not _is_left(about.filename)]
    if len(every) > MOST_FILES:
        raise DataError(f"it has {len(every):,} files, and {MOST_FILES:,} are read at most.")
    members: dict[str, zipfile.ZipInfo] = {}
    for about in every:
        run_id, _, name = about.filename.partition("/")
        mode = about.external_attr >> 16
        plain = not mode or stat.S_IFMT(mode) in (0, stat.S_IFREG)
        if not (is_id(run_id) and re.fullmatch(FILE_NAME, name) and plain):
            raise DataError(f"{about.filename!r:.100} is no file of a run.")
        if about.filename in members:
            raise DataError(f"{about.filename!r:.100} is in it twice.")
        if about.flag_bits & 1:
            raise DataError("it is protected by a password.")
        members[about.filename] = about
    runs = {name.partition("/")[0] for name in members}
    if not runs or any(f"{run_id}/config.json" not in members for run_id in runs):
        raise DataError("it is no download of a run: a folder with config.json and run.db was needed.")
    if len(runs) > MOST_RUNS:
        raise DataError(f"it has {len(runs):,} runs, and {MOST_RUNS} are read at most.")
    if any(created(run_id) > time.time() + 86400 for run_id in runs):
        raise DataError("a run in it is of a time to come.")
    size, room = sum(about.file_size for about in every), shutil.disk_usage(root).free - ROOM
    if size > min(MOST_BYTES, room):
        raise DataError(f"unpacked it has {size:,} bytes, and there is room for {max(0, min(MOST_BYTES, room)):,}.")
    return members


def _is_left(name: str) -> bool:
    """Return whether a file came with packing a run's folder again: the Finder's, or one of :data:`HERE`."""
    parts = name.split("/")
    of_here = len(parts) == 2 and is_id(parts[0]) and parts[1] in HERE
    return of_here or parts[0] == "__MACOSX" or parts[-1].startswith("._") or parts[-1] == ".DS_Store"


def _unpack(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], spare: Path, tell: Progress) -> None:
    total, done = sum(about.file_size for about in members.values()) or 1, 0
    for name, about in members.items():
        target = spare / name
        target.parent.mkdir(parents=True, exist_ok=True)
        left = about.file_size
        with archive.open(about) as source, target.open("xb") as into:
            while part := source.read(CHUNK):
                left -= len(part)
                if left < 0:
                    raise DataError(f"{name!r:.100} is larger than the zip says.")
                into.write(part)
                done += len(part)
                tell("unpacking the run", done / total)


def _checked(path: Path) -> RunFolder:
    """Read everything in an unpacked folder once, and make it a run that nothing trains by itself.

    Raises:
        RunError: something is wrong; says what.
    """
    needed, known_tables = _schemas()
    if not needed <= schema_of(path / "run.db") <= known_tables:
        raise RunError(f"the database of run {path.name} has other tables, views or triggers than those of a run.")
    folder = RunFolder(path)
    try:
        folder.check()
        config, state = folder.config, folder.state()
        planned = kind_of(config).plans
        _read(folder)
        if PHASES[state.phase].moving:
            told = "imported before it had ended; it can be resumed" if folder.has_checkpoint or planned else ""
            folder.db.set_state(dataclasses.replace(state, phase="interrupted", message=told or "imported"))
        folder.db.write("DELETE FROM control")
    finally:
        folder.db.close()
    for spare in path.glob("run.db-*"):
        with contextlib.suppress(OSError):
            spare.unlink()
    return folder


@functools.cache
def _schemas() -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
    """Return what a database has to have, and what it may have."""
    return schema(), schema(TABLES)


def _read(folder: RunFolder) -> None:
    folder.scalars()
    probe = folder.probe()
    for index in range(probe.sheets if probe is not None else 0):
        if folder.sheet_path(index).exists():
            folder.sheet(index)
    for k, _, _ in folder.snapshots():
        if folder.embeddings_path(k).exists():
            folder.embeddings(k)
    refined = folder.refined_frame()
    for k in [*folder.frames(), *([refined[0]] if refined is not None else [])]:
        if folder.frame_path(k).exists():
            folder.frame(k)
    folder.test_queries()
    folder.untrained()
    folder.commands(0)
    if folder.has_checkpoint:
        folder.read_checkpoint()
