"""Plain image folders and zip files: sub-folders are classes, nested sub-folders are a class tree.

photos/apple/1.jpg              one level:  class
photos/fruit/apple/1.jpg        two levels: class = apple, group = fruit
photos/train/fruit/apple/1.jpg  the same, with splits
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from trainers.data.division import rank_as_test
from trainers.data.table import Codes, Kind, Table, encode
from trainers.errors import DataError

_SUFFIXES = (
    ".jpg",
    ".jpeg",
    ".png",
    ".bmp",
    ".gif",
    ".webp",
    ".tif",
    ".tiff",
    ".ppm",
    ".pgm",
    ".jp2",
    ".avif",
    ".jfif",
)
_TABLES = (".parquet", ".arrow", ".tar")
_TEXTS = (".csv", ".jsonl", ".json", ".zip")
_MOST_NAMES = 50_000
_MAX_BYTES = 200_000_000


@dataclass(frozen=True, kw_only=True)
class File:
    """One image: its path below the folder as parts, its size in bytes and its time of change in nanoseconds."""

    parts: tuple[str, ...]
    size: int
    changed: int


class FileTable(Table):
    """One split of a plain folder or zip file. ``tree`` names its label columns, finest first."""

    def __init__(self, place: Path, files: list[File], labels: list[tuple[str, ...]], tree: tuple[str, ...]) -> None:
        self.kinds: dict[str, Kind] = {"image": "image", **dict.fromkeys(tree, "text")}
        self.tree = tree
        self._place = place
        self._files = files
        self._labels = labels

    def __len__(self) -> int:
        return len(self._files)

    def codes(self, column: str) -> Codes:
        level = self.tree.index(column)
        return encode([row[len(self.tree) - 1 - level] for row in self._labels])

    def pictures(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        files = [self._files[row] for row in rows]
        if self._place.is_dir():
            return [_read(self._place.joinpath(*file.parts), file.size) for file in files]
        with zipfile.ZipFile(self._place) as archive:
            return [_unzip(archive, "/".join(file.parts), file.size) for file in files]


def kind(place: Path) -> Literal["images", "tables"] | None:
    """Whether this holds image files in folders (or is a zip file), or tables for ``datasets``; None: neither.

    Looks at no more than 50,000 names, so that a whole disk given by mistake is answered too.
    """
    if place.is_file():
        return "images" if zipfile.is_zipfile(place) else None
    seen, pictures, others = 0, False, False
    for folder, inner, names in os.walk(place):
        inner[:] = sorted(name for name in inner if not _hidden(name))
        for name in names:
            suffix = Path(name).suffix.lower()
            if suffix in _TABLES or (suffix in _TEXTS and name.startswith(("metadata.", "state."))):
                return "tables"
            others = others or suffix in _TEXTS or suffix == ".py"
            pictures = pictures or suffix in _SUFFIXES
            seen += 1
        if seen > _MOST_NAMES or (pictures and Path(folder) != place and Path(folder).parent != place):
            break
    return "images" if pictures else "tables" if others else None


def scan(place: Path) -> list[File]:
    """All image files in path order, without a common outer folder.

    Raises:
        DataError: the zip file is damaged or locked by a password.
    """
    found = sorted(_zipped(place) if place.is_file() else _walk(place), key=lambda file: file.parts)
    return found


def key(place: Path, files: list[File]) -> str:
    """Changes when a file is added, removed, renamed or written."""
    text = "\n".join(f"{'/'.join(file.parts)}\t{file.size}\t{file.changed}" for file in files)
    return hashlib.blake2b(f"{place.resolve()}\n{text}".encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def tables(place: Path, files: list[File]) -> tuple[dict[str, FileTable], tuple[str, ...]]:
    """Group files to splits and classes.

    Returns:
        the splits by name, and notes.

    Raises:
        DataError: there are no images, or none lies in a class folder.
    """
    if not files:
        raise DataError(f"{place.name!r} holds no images. Put them in one sub-folder per class.")
    skip = _common_depth(files)
    folders = [file.parts[skip:-1] for file in files]
    split_depth = int(all(parts and _is_split(parts[0]) for parts in folders))
    depths = {len(parts) - split_depth for parts in folders} - {0}
    if not depths:
        raise DataError(f"The images of {place.name!r} lie in one folder. Put them in one sub-folder per class.")
    depth, notes = min(depths), []
    loose = sum(len(parts) == split_depth for parts in folders)
    if loose:
        notes.append(f"{loose} images lie in no class folder and were skipped.")
    if len(depths) > 1:
        notes.append(f"Class folders are nested to different depths; the first {depth} of them were read as labels.")
    tree = tuple(["class", "group", *(f"group {n}" for n in range(2, depth))][:depth])
    grouped: dict[str, tuple[list[File], list[tuple[str, ...]]]] = {}
    for file, parts in zip(files, folders, strict=True):
        if len(parts) > split_depth:
            part = grouped.setdefault(parts[0] if split_depth else "all", ([], []))
            part[0].append(file)
            part[1].append(parts[split_depth : split_depth + depth])
    splits = {name: FileTable(place, part, labels, tree) for name, (part, labels) in grouped.items()}
    return splits, tuple(notes)


def _is_split(name: str) -> bool:
    return name.lower() in ("train", "training") or (rank_as_test(name) is not None and name.isascii())


def _common_depth(files: list[File]) -> int:
    """Number of outer folders that all files share and that are neither a split nor the only class folder."""
    first = files[0].parts
    shared = 0
    while all(len(file.parts) > shared + 2 and file.parts[shared] == first[shared] for file in files):
        if _is_split(first[shared]):
            break
        shared += 1
    return shared


def _walk(place: Path) -> Iterator[File]:
    for folder, inner, names in os.walk(place):
        inner[:] = [name for name in inner if not _hidden(name)]
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in _SUFFIXES and not _hidden(name) and path.is_file():
                state = path.stat()
                yield File(parts=path.relative_to(place).parts, size=state.st_size, changed=state.st_mtime_ns)


def _zipped(place: Path) -> Iterator[File]:
    changed = place.stat().st_mtime_ns
    try:
        with zipfile.ZipFile(place) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{place.name!r} is not a readable zip file: {error}.") from error
    for member in members:
        # Names are used as labels and to find the member again, never as paths to write to.
        parts = tuple(member.filename.split("/"))
        if member.flag_bits & 1:
            raise DataError(f"{place.name!r} is locked by a password. Unpack it and give the folder.")
        if Path(parts[-1]).suffix.lower() in _SUFFIXES and not any(map(_hidden, parts)):
            yield File(parts=parts, size=member.file_size, changed=changed)


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _read(path: Path, size: int) -> bytes | None:
    try:
        return path.read_bytes() if size <= _MAX_BYTES else None
    except OSError:
        return None


def _unzip(archive: zipfile.ZipFile, name: str, size: int) -> bytes | None:
    # The declared size is checked first and zipfile stops at it, so a small member cannot unpack to terabytes.
    try:
        return archive.read(name) if size <= _MAX_BYTES else None
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError, ValueError):
        return None
    except Exception as error:
        if type(error).__module__ in ("zlib", "lzma"):
            return None
        raise
