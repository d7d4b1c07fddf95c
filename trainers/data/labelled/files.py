"""Plain image folders and zip files: sub-folders are classes, nested sub-folders are a class tree.

images/apple/1.jpg              one level:  class
images/fruit/apple/1.jpg        two levels: class = apple, group = fruit
images/train/fruit/apple/1.jpg  the same, with splits
"""

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

import numpy as np

from trainers.data.cache import content_key
from trainers.data.image_file import LARGEST_FILE, SUFFIXES
from trainers.data.labelled.splits import rank_as_test
from trainers.data.labelled.table import Codes, Kind, Splits, Table, encode
from trainers.errors import DataError

_TABLES = (".parquet", ".arrow", ".tar")
_TEXTS = (".csv", ".jsonl", ".json", ".zip")
_LISTS = (".csv", ".tsv", ".xlsx", ".xls")
_FOREIGN = (".heic", ".heif", ".avif", ".jxl", ".svg", ".psd", ".raw", ".dng", ".cr2", ".nef", ".eps", ".pdf")
"""Endings of images that are not read."""
_MOST_NAMES = 50_000
_LINK = 0o120000
_PACKED_AS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a few bytes to far more than they state


@dataclass(frozen=True, kw_only=True)
class File:
    """One file: its path below the folder as parts, its size in bytes and its time of change in nanoseconds."""

    parts: tuple[str, ...]
    size: int
    changed: int


class FileTable(Table):
    """One split of a plain folder or zip file. ``tree`` names its label columns, finest first."""

    def __init__(
        self, source: FileSource, files: list[File], labels: list[tuple[str, ...]], tree: tuple[str, ...]
    ) -> None:
        self.kinds: dict[str, Kind] = {"image": "image", **dict.fromkeys(tree, "text")}
        self.total = len(files)
        self._source = source
        self._files = files
        # the columns are finest first, the parts of a path coarsest first
        parts = range(len(tree) - 1, -1, -1)
        self._codes = {name: encode([row[part] for row in labels]) for name, part in zip(tree, parts, strict=True)}

    def __len__(self) -> int:
        return len(self._files)

    def codes(self, column: str) -> Codes:
        return self._codes[column]

    def sizes(self, column: str, rows: np.ndarray) -> np.ndarray:
        return np.fromiter((self._files[row].size for row in rows), dtype=np.int64, count=len(rows))

    def images(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        files = [self._files[row] for row in rows]
        return [self._source.read(file) if file.size <= LARGEST_FILE else None for file in files]

    def names(self, column: str, rows: np.ndarray) -> list[str]:
        return ["/".join(self._files[row].parts) for row in rows]


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder of image files; ``every``: of files of any kind."""

    path: Path
    every: bool = False

    def files(self) -> Iterator[File]:
        """Yield the files below it, without hidden ones."""
        for folder, names in _walk(self.path):
            for path in (folder / name for name in names):
                if (self.every or path.suffix.lower() in SUFFIXES) and path.is_file():
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
        for name, member in self._members.items():
            parts = tuple(name.split("/"))
            if ".." in parts or name.startswith("/") or "\\" in name or re.match("[A-Za-z]:", name):
                raise DataError(
                    f"{self.path.name!r} holds names that lead out of it, such as {name[:80]!r}. Pack it again."
                )
            if member.flag_bits & 1:
                raise DataError(f"{self.path.name!r} is locked by a password. Unpack it and give the folder.")
            if Path(parts[-1]).suffix.lower() not in SUFFIXES or any(map(_hidden, parts)):
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

    def others(self) -> Counter[str]:
        """Count the other files, by what ends their names."""

    def read(self, file: File) -> bytes | None:
        """Read one; None if it is gone or damaged."""


def kind(path: Path) -> Literal["images", "tables"] | None:
    """Return whether this holds image files in folders (or is a zip file), or tables for ``datasets``; None: neither.

    Looks at no more than 50,000 names, so that a whole disk given by mistake is answered too.
    """
    if path.is_file():
        return "images" if zipfile.is_zipfile(path) else None
    seen, images, others = 0, False, False
    for folder, names in _walk(path):
        for name in names:
            suffix = Path(name).suffix.lower()
            if suffix in _TABLES or (suffix in _TEXTS and name.startswith(("metadata.", "state."))):
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
    """Return a key that changes when a file is added, removed, renamed or written."""
    return content_key([str(source.path.resolve()), *((file.parts, file.size, file.changed) for file in files)])


def tables(source: FileSource, files: list[File]) -> Splits:
    """Group files to splits and classes; without a label column where no image lies in a class folder.

    Raises:
        DataError: there are no images.
    """
    if not files:
        raise DataError(f"{source.path.name!r} holds no images. Put them in one sub-folder per class.")
    skip = _common_depth(files)
    folders = [file.parts[skip:-1] for file in files]
    split_depth = int(all(parts and _is_split(parts[0]) for parts in folders))
    depths = {len(parts) - split_depth for parts in folders} - {0}
    depth, notes = min(depths, default=0), []
    loose = sum(len(parts) == split_depth for parts in folders)
    if loose and depth:
        notes.append(f"{loose} images lie in no class folder and were skipped.")
    if len(depths) > 1:
        notes.append(f"Class folders are nested to different depths; the first {depth} of them were read as labels.")
    notes += _left_out(source.others())
    tree = tuple(["class", "group", *(f"group {n}" for n in range(2, depth))][:depth])
    grouped: dict[str, tuple[list[File], list[tuple[str, ...]]]] = {}
    for file, parts in zip(files, folders, strict=True):
        if len(parts) > split_depth or not depth:
            part = grouped.setdefault(parts[0] if split_depth else "all", ([], []))
            part[0].append(file)
            part[1].append(parts[split_depth : split_depth + depth])
    splits = {name: FileTable(source, part, labels, tree) for name, (part, labels) in grouped.items()}
    return Splits(tables=splits, notes=tuple(notes), tree=tree)


def _left_out(others: Counter[str]) -> list[str]:
    """Say which files were left out that somebody may have meant to be read: images of other formats, and tables."""
    foreign = {suffix: count for suffix, count in sorted(others.items()) if suffix in _FOREIGN}
    notes = []
    if foreign:
        counts = ", ".join(f"{count:,} {suffix}" for suffix, count in foreign.items())
        notes.append(f"Left out, since they cannot be read here: {counts}. Save them as JPEG or PNG.")
    if any(suffix in _LISTS for suffix in others):
        notes.append(
            "Tables beside the images are not read, the folders are the classes; a table named metadata.csv with the "
            "columns file_name and label is."
        )
    return notes


def _is_split(name: str) -> bool:
    return name.lower() in ("train", "training") or (rank_as_test(name) is not None and name.isascii())


def _common_depth(files: list[File]) -> int:
    """Return how many outer folders all files share that are neither a split nor the only class folder."""
    first = files[0].parts
    shared = 0
    while all(len(file.parts) > shared + 2 and file.parts[shared] == first[shared] for file in files):
        if _is_split(first[shared]):
            break
        shared += 1
    return shared


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders below one and the names of their files, in order, without hidden ones."""
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not _hidden(name))
        yield Path(folder), [name for name in names if not _hidden(name)]


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"
