"""The copy of a run, which is whole or not there, whatever ends its writer.

<folder>/<id>/manifest.json   names of the run's files, with size, SHA-256 and time of each
               <sha256>       their contents
               deleted        the run was deleted on the page: nothing else is left, and nothing is copied again

Contents never change. What a new manifest names is written beside what the old one names, under a temporary name that
is replaced at the end; the manifest comes last. What a copy says is checked when it is read, and only regular files
are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainers.errors import DiskFullError, RunError
from trainers.runs.atomic_files import scratch
from trainers.runs.checked import is_id
from trainers.runs.database import written
from trainers.runs.folder import RunFolder
from trainers.runs.regular import IrregularError, is_regular, is_there, open_regular, read_regular

MANIFEST, DELETED = "manifest.json", "deleted"
CHUNK = 2**20
MANIFEST_BYTES = 2**24  # some 100,000 files
MOST_BYTES = 2**36  # of one file, as in a download
ROOM = 2**28
"""Bytes that stay free on the disk of the runs when one is restored."""
LEFTOVER_SECONDS = 3600.0
"""Age at which what no manifest names was left by a writer that was killed."""
_LEFT_OUT = frozenset({"lock", "ballast", "previous.safetensors"})
_SUFFIXES = "json|db|safetensors|webp|txt|csv|png|jpg"
FILE_NAME = rf"(?:[a-z_]{{1,20}}/)?[A-Za-z0-9][A-Za-z0-9_-]{{0,79}}(?:\.(?:{_SUFFIXES}))?"
"""A file of a run, with the folder within the run that it lies in, as a regular expression."""
_STAMPED = ("emb", "layout", "thumbs", "ckpt", "config.json", "label.json", "log.txt")


class CopiedFile(BaseModel):
    """A file of a run as it was copied; ``time``: when it was written, in nanoseconds."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    size: Annotated[int, Field(ge=0, le=MOST_BYTES)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    time: Annotated[int, Field(ge=0, lt=2**63)]


class Manifest(BaseModel):
    """What a copy holds: the files by name, the step that they reach, and the stamp of the folder at that moment."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    version: Literal[1] = 1
    id: Annotated[str, Field(max_length=26)]
    step: Annotated[int, Field(ge=0, lt=2**63)]
    stamp: Annotated[str, Field(max_length=64)]
    files: dict[Annotated[str, Field(pattern=f"^{FILE_NAME}$")], CopiedFile]


class DeletedError(RunError):
    """The run was deleted on the page, here or by another program with the same folder."""


def stamp_of(path: Path) -> str:
    """Return a word that differs once anything was written to a run that its copy should hold."""
    stats: list[object] = [written(path)]
    for name in _STAMPED:
        with contextlib.suppress(OSError):
            about = (path / name).lstat()
            stats.append((name, about.st_mtime_ns, about.st_size))
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:32]


def write_copy(folder: RunFolder, into: Path) -> Manifest:
    """Bring the copy of a run in ``into`` up to date; files that have not changed are not read.

    The checkpoint is read before the database, and the rest after it: every frame that the database names is then
    whole, and it knows every number that the checkpoint builds on.

    Raises:
        RunError: the run cannot be read, or was deleted.
        OSError: the copy cannot be written, or a file of the run has gone meanwhile.
    """
    target = _no_link(into / folder.id)
    _check_kept(target)
    before = read_manifest(target)
    stamp, step = stamp_of(folder.path), folder.state().step
    target.mkdir(exist_ok=True)
    writer = _Writer(target, before)
    writer.add("ckpt/last.safetensors", folder.path, missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="rankscope-") as spare:
        folder.db.copy_to(Path(spare) / "run.db")
        writer.add("run.db", Path(spare))
    for name in _names(folder.path):
        writer.add(name, folder.path)
    manifest = Manifest(id=folder.id, step=step, stamp=stamp, files=writer.files)
    _check_kept(target)
    _write(target / MANIFEST, manifest.model_dump_json().encode())
    _check_kept(target)  # deleted between the two: what was just written goes as well
    writer.clear(manifest)
    return manifest


def read_manifest(target: Path) -> Manifest | None:
    """Read what the copy of a run holds; None where there is no whole one.

    Raises:
        RunError: it cannot be understood.
        OSError: it cannot be read.
    """
    try:
        content = read_regular(_no_link(target) / MANIFEST, MANIFEST_BYTES)
    except FileNotFoundError:
        return None
    except IrregularError as error:
        raise RunError(f"The copy of run {target.name} cannot be read: {error}.") from error
    try:
        manifest = Manifest.model_validate_json(content)
    except (ValidationError, RecursionError) as error:
        raise RunError(f"The copy of run {target.name} has a manifest that cannot be read.") from error
    if manifest.id != target.name or not is_id(manifest.id):
        raise RunError(f"The copy of run {target.name} has the manifest of another run.")
    return manifest


def restore(manifest: Manifest, into: Path, root: Path) -> RunFolder | None:
    """Make a run of its copy in ``into``; None where ``root`` has a run of this id already, which stays as it is.

    Raises:
        RunError: the copy is not whole, or no run.
        OSError: it cannot be read, or the run not written.
    """
    if is_there(root / manifest.id):
        return None
    needed = sum(entry.size for entry in manifest.files.values())
    if needed + ROOM > shutil.disk_usage(root).free:
        raise DiskFullError(f"The run {manifest.id} needs {needed:,} bytes on the disk of the runs.")
    with scratch(root) as spare:
        path = spare / manifest.id
        path.mkdir()
        for name, entry in manifest.files.items():
            file = path / name
            file.parent.mkdir(exist_ok=True)
            _fetch(into / manifest.id / entry.sha256, file, entry, manifest.id)
        made = RunFolder(path)
        try:
            made.check()
            made.state()
        finally:
            made.db.close()
        path.rename(root / manifest.id)  # fails where another program has just made it
    return RunFolder(root / manifest.id)


def forget(run_id: str, into: Path) -> None:
    """Delete the copy of a run for good.

    Raises:
        RunError: it is no folder.
        OSError: it cannot be done now.
    """
    target = _no_link(into / run_id)
    target.mkdir(exist_ok=True)
    _write(target / DELETED, b"")
    _empty(target)


def kept_ids(into: Path) -> list[str]:
    """List the runs that have a copy, newest first.

    Raises:
        OSError: the folder cannot be read.
    """
    names = [entry.name for entry in os.scandir(into) if is_id(entry.name) and entry.is_dir(follow_symlinks=False)]
    return sorted((name for name in names if not is_there(into / name / DELETED)), reverse=True)


class _Writer:
    """Copies files of a run to ``target``; ``before`` is what the copy held."""

    def __init__(self, target: Path, before: Manifest | None) -> None:
        self.files: dict[str, CopiedFile] = {}
        self._target = target
        self._before = {} if before is None else before.files
        self._there = {entry.name for entry in os.scandir(target)}

    def add(self, name: str, root: Path, *, missing_ok: bool = False) -> None:
        """Copy a file of ``root``, unless the copy has it already."""
        if missing_ok and not is_regular(root / name):
            return
        with open_regular(root / name, os.O_RDONLY) as source:
            about = os.fstat(source.fileno())
            known = self._before.get(name)
            same = known is not None and (known.size, known.time) == (about.st_size, about.st_mtime_ns)
            if known is not None and same and known.sha256 in self._there:
                self.files[name] = known
                return
            digest = hashlib.sha256()
            with _written(self._target, digest.hexdigest) as part:
                while content := source.read(CHUNK):
                    digest.update(content)
                    part.write(content)
                size = part.tell()
        self._there.add(digest.hexdigest())
        self.files[name] = CopiedFile(size=size, sha256=digest.hexdigest(), time=about.st_mtime_ns)

    def clear(self, manifest: Manifest) -> None:
        """Remove what the copy needs no longer, and what writers left that were killed."""
        needed = {entry.sha256 for entry in manifest.files.values()} | {MANIFEST}
        ours = {entry.sha256 for entry in self._before.values()}
        for entry in os.scandir(self._target):
            if entry.name not in needed:
                with contextlib.suppress(OSError):
                    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                    if entry.name in ours or age > LEFTOVER_SECONDS:  # another program may be writing it now
                        Path(entry.path).unlink()


def _names(path: Path) -> Iterator[str]:
    """Yield the names of the files of a run, but of its database and its checkpoint."""
    for folder in (path, *sorted(part for part in path.iterdir() if part.is_dir() and not part.is_symlink())):
        for file in sorted(folder.iterdir()):
            name = file.relative_to(path).as_posix()
            apart = name in ("run.db", "ckpt/last.safetensors") or file.name in _LEFT_OUT
            if not apart and re.fullmatch(FILE_NAME, name) and is_regular(file):
                yield name


def _fetch(source: Path, file: Path, entry: CopiedFile, run_id: str) -> None:
    digest, left = hashlib.sha256(), entry.size
    try:
        with open_regular(source, os.O_RDONLY) as content, file.open("xb") as target:
            while left >= 0 and (part := content.read(CHUNK)):
                digest.update(part)
                target.write(part)
                left -= len(part)
    except (FileNotFoundError, IrregularError) as error:
        raise RunError(f"The copy of run {run_id} is not whole: {file.name} is missing.") from error
    if left or digest.hexdigest() != entry.sha256:
        raise RunError(f"The copy of run {run_id} is damaged: {file.name} is not what was written.")
    os.utime(file, ns=(entry.time, entry.time))


def _no_link(target: Path) -> Path:
    """Return the folder of a copy, if it is not a link to another one."""
    if target.is_symlink():
        raise RunError(f"The copy of run {target.name} is a link, not a folder.")
    return target


def _check_kept(target: Path) -> None:
    if is_there(target / DELETED):
        with contextlib.suppress(OSError):
            _empty(target)
        raise DeletedError(f"The run {target.name} was deleted.")


def _empty(target: Path) -> None:
    for entry in os.scandir(target):
        if entry.name != DELETED:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with _written(path.parent, lambda: path.name) as part:
        part.write(content)


@contextlib.contextmanager
def _written(folder: Path, name: Callable[[], str]) -> Iterator[BinaryIO]:
    """Yield a file that gets its name at the end, when it is on the disk; none is left after an error."""
    path = folder / f".{secrets.token_hex(8)}.part"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as part:
            yield part
            part.flush()
            os.fsync(part.fileno())
        path.replace(folder / name())
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
