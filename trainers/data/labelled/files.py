"""Plain image folders and zip files, and the tables in them."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from trainers.data.cache import content_key
from trainers.data.image_file import SUFFIXES
from trainers.data.labelled import beside
from trainers.errors import DataError

_TABLES = (".parquet", ".arrow", ".tar")
_TEXTS = (".csv", ".jsonl", ".json", ".zip")
_MOST_NAMES = 50_000
_LINK = 0o120000
_PACKED_AS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a few bytes to far more than they state


@dataclass(frozen=True, kw_only=True)
class File:
    """One file: its path below the folder as parts, its size in bytes and its time of change in nanoseconds."""

    parts: tuple[str, ...]
    size: int
    changed: int


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder of image files; ``every``: of files of any kind."""

    path: Path
    every: bool = False

    def files(self) -> Iterator[File]:
        """Yield the files below it, without hidden ones."""
        return self.listed(None if self.every else SUFFIXES)

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield the files whose names end so (small letters); None: all."""
        for folder, names in _walk(self.path):
            for path in (folder / name for name in names):
                if (suffixes is None or path.suffix.lower() in suffixes) and path.is_file():
                    state = path.stat()
                    yield File(parts=path.relative_to(self.path).parts, size=state.st_size, changed=state.st_mtime_ns)

    def others(self) -> Counter[str]:
        """Count the files below it that are no images which can be read, by what ends their names."""
        names = (Path(name) for _, names in _walk(self.path) for name in names)
        return Counter(name.suffix.lower() or name.name for name in names if name.suffix.lower() not in SUFFIXES)

    def read(self, file: File) -> bytes | None:
        """Read a file; None if it is gone."""
        try:
            return self.path.joinpath(*file.parts).read_bytes()
        except OSError:
            return None


class Archive:
    """A zip file of image files; its table of contents is read once.

    Raises:
        DataError: damaged, locked by a password, packed in an unusual way, or with names that lead out of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changed = path.stat().st_mtime_ns
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise DataError(f"{path.name!r} is not a readable zip file: {error}.") from error
        self._members = {member.filename: member for member in self._zip.infolist()}

    def files(self) -> Iterator[File]:
        """Yield the image files in it, without hidden ones and links."""
        return self.listed(SUFFIXES)

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield the files whose names end so (small letters), without hidden ones and links; None: all."""
        for name, member in self._members.items():
            parts = tuple(name.split("/"))
            if ".." in parts or name.startswith("/") or "\\" in name or re.match("[A-Za-z]:", name):
                raise DataError(
                    f"{self.path.name!r} holds names that lead out of it, such as {name[:80]!r}. Pack it again."
                )
            if member.flag_bits & 1:
                raise DataError(f"{self.path.name!r} is locked by a password. Unpack it and give the folder.")
            wanted = suffixes is None or Path(parts[-1]).suffix.lower() in suffixes
            if not wanted or member.is_dir() or any(map(_hidden, parts)):
                continue
            if member.external_attr >> 16 & 0o170000 == _LINK:
                continue
            if member.compress_type not in _PACKED_AS:
                raise DataError(f"{self.path.name!r} is packed in an unusual way. Pack it as an ordinary zip file.")
            yield File(parts=parts, size=member.file_size, changed=self._changed)

    def others(self) -> Counter[str]:
        """Count the files in it that are no images which can be read, by what ends their names."""
        shown = (name for name in self._members if not name.endswith("/") and not any(map(_hidden, name.split("/"))))
        names = list(map(Path, shown))
        return Counter(name.suffix.lower() or name.name for name in names if name.suffix.lower() not in SUFFIXES)

    def read(self, file: File) -> bytes | None:
        """Read a file; None if it is damaged."""
        member = self._members.get("/".join(file.parts))
        if member is None:
            return None
        try:
            with self._zip.open(member) as stream:
                # Asked for by its stated size, as a whole it would be unpacked as far as it goes and only then cut.
                data = stream.read(file.size)
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError, ValueError, zlib.error):
            return None
        return data if len(data) == file.size else None


class FileSource(Protocol):
    """Where image files lie: a folder, a zip file, a repository of the Hub."""

    @property
    def path(self) -> Path:
        """Where they are, for messages."""

    def files(self) -> Iterator[File]:
        """Yield them, without hidden ones."""

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield the files whose names end so (small letters), such as tables beside them; None: all."""

    def others(self) -> Counter[str]:
        """Count the other files, by what ends their names."""

    def read(self, file: File) -> bytes | None:
        """Read one; None if it is gone or damaged."""


def kind(path: Path, *, metadata: bool = False) -> Literal["images", "tables"] | None:
    """Return whether this holds image files in folders (or is a zip file), or tables for ``datasets``; None: neither.

    Images with ``metadata.csv`` or the like beside them are images, or with ``metadata`` tables.

    Looks at no more than 50,000 names, so that a whole disk given by mistake is answered too.
    """
    if path.is_file():
        return "images" if zipfile.is_zipfile(path) else None
    seen, images, others = 0, False, False
    saying = ("metadata.", "state.") if metadata else ("state.",)
    for folder, names in _walk(path):
        for name in names:
            suffix = Path(name).suffix.lower()
            if suffix in _TABLES or (suffix in _TEXTS and name.startswith(saying)):
                return "tables"
            others = others or suffix in _TEXTS or suffix == ".py"
            images = images or suffix in SUFFIXES
            seen += 1
        if seen > _MOST_NAMES or (images and path not in (folder, folder.parent)):
            break
    return "images" if images else "tables" if others else None


def scan(path: Path, *, every: bool = False) -> tuple[FileSource, list[File]]:
    """List all image files of a folder or zip file in path order; ``every``: all files of a folder.

    Raises:
        DataError: the zip file cannot be used.
    """
    source = Archive(path) if path.is_file() else Folder(path=path, every=every)
    return source, sorted(source.files(), key=lambda file: file.parts)


def content_key_of(source: FileSource, files: list[File]) -> str:
    """Return a key that changes when a file, or a table beside them, is added, removed, renamed or written."""
    every = [*files, *sorted(source.listed(beside.SUFFIXES), key=lambda file: file.parts)]
    return content_key([str(source.path.resolve()), *((file.parts, file.size, file.changed) for file in every)])


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders below one and the names of their files, in order, without hidden ones."""
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not _hidden(name))
        yield Path(folder), [name for name in names if not _hidden(name)]


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"
