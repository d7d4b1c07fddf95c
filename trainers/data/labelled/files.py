"""Plain image folders and zip files, and the tables in them."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Literal, Protocol

from trainers.cells import counted
from trainers.data import access
from trainers.data.cache import content_key
from trainers.data.image_file import SUFFIXES
from trainers.data.labelled import label_tables
from trainers.data.labelled.archive_names import ZipNames
from trainers.data.names import composed
from trainers.errors import DataError

Kind = Literal["images", "tables"]
_TABLES = (".parquet", ".arrow", ".tar")
_TEXTS = (".csv", ".jsonl", ".json", ".zip")
_MOST_NAMES = 50_000
_LINK = 0o120000
_DEEPEST = 100  # folders within each other in a zip file
_MUCH = 1_000_000_000  # bytes that a zip file may unpack to, however small it is
_DENSEST = 200  # times its size that a larger one may unpack to; images are packed already
_PACKED_AS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a few bytes to far more than they state


@dataclass(frozen=True, kw_only=True)
class File:
    """One file: its path below the folder as parts, its size in bytes and its time of change in nanoseconds."""

    parts: tuple[str, ...]
    size: int
    changed: int

    @property
    def names(self) -> tuple[str, ...]:
        """The parts in the form in which names are compared and shown; ``parts`` are what opens the file."""
        return tuple(map(composed, self.parts))


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder of image files, which is walked once, as far as it is looked at.

    Attributes:
        path: where it lies.
        encoding: of names in its zip files, as of :class:`Archive`.
    """

    path: Path
    encoding: str | None = None

    def kind(self, *, metadata: bool = False) -> Kind | None:
        """Return whether this holds image files in folders or zip files, or tables for ``datasets``; None: neither.

        Images with ``metadata.csv`` or the like beside them are images, or with ``metadata`` tables.

        Looks at no more than 50,000 names, so that a whole disk given by mistake is answered too.
        """
        seen, images, others = 0, False, False
        saying = ("metadata.", "state.") if metadata else ("state.",)
        for folder, names in self._walk.folders():
            for name in names:
                suffix = Path(name).suffix.lower()
                if suffix in _TABLES or (suffix in _TEXTS and name.startswith(saying)):
                    return "tables"
                others = others or suffix in _TEXTS or suffix == ".py"
                images = images or suffix in SUFFIXES or (suffix == ".zip" and not metadata and _packs(folder / name))
                seen += 1
            if seen > _MOST_NAMES or (images and self.path not in (folder, folder.parent)):
                break
        return "images" if images else "tables" if others else None

    def files(self) -> Iterator[File]:
        """Yield the image files below it, without hidden ones."""
        return self.listed(SUFFIXES)

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield the files whose names end so (small letters); None: all."""
        for folder, names in self._walk.folders():
            for path in (folder / name for name in names):
                if (suffixes is None or path.suffix.lower() in suffixes) and path.is_file():
                    state = path.stat()
                    yield File(parts=path.relative_to(self.path).parts, size=state.st_size, changed=state.st_mtime_ns)

    def others(self) -> Counter[str]:
        """Count the files below it that are no images which can be read, by what ends their names."""
        names = (Path(name) for _, names in self._walk.folders() for name in names)
        return Counter(name.suffix.lower() or name.name for name in names if name.suffix.lower() not in SUFFIXES)

    def notes(self) -> list[str]:
        """Say which links were not followed."""
        lost = [
            path for folder, names in self._walk.folders() for name in names if _leads_nowhere(path := folder / name)
        ]
        said = (
            (
                self._walk.skipped,
                "was not followed: it leads to a folder that is read already, or that may not be opened here",
            ),
            (lost, "leads nowhere"),
        )
        return [_links(paths, why, self.path) for paths, why in said if paths]

    def read(self, file: File) -> bytes | None:
        """Read a file; None if it is gone."""
        try:
            return self.path.joinpath(*file.parts).read_bytes()
        except OSError:
            return None

    def opened(self, file: File) -> Archive:
        """Open a zip file in it; raises as :class:`Archive`."""
        return Archive(self.path.joinpath(*file.parts), self.encoding)

    @cached_property
    def _walk(self) -> _Walk:
        return _Walk(self.path)


class Archive:
    """A zip file of image files; its table of contents is read once.

    Args:
        encoding: of names that do not say how they are encoded; None: it is found.
        stream: its bytes, where it is no file of this machine.

    Raises:
        DataError: damaged, locked by a password, packed in an unusual way, unpacking to far more than images do, with
            names that lead out of it, or too many folders within each other.
    """

    def __init__(self, path: Path, encoding: str | None = None, stream: IO[bytes] | None = None) -> None:
        self.path = path
        self._changed = 0 if stream else path.stat().st_mtime_ns
        try:
            self._zip = zipfile.ZipFile(stream or path)
        except DataError:  # of the Hub, where the stream is of it
            raise
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise DataError(
                f"{path.name!r} is not a readable zip file: {error}. Fetch it or pack it again, or remove it."
            ) from error
        members = self._zip.infolist()
        _check_density(path.name, sum(member.file_size for member in members), self._zip.start_dir)
        named = ZipNames.of(members, encoding)
        self._note = named.note
        # Some programs of Windows write backslashes between folders.
        parts = (tuple(name.replace("\\", "/").split("/")) for name in named.names)
        self._members = dict(zip(parts, members, strict=True))

    def files(self) -> Iterator[File]:
        """Yield the image files in it, without hidden ones and links."""
        return self.listed(SUFFIXES)

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield the files whose names end so (small letters), without hidden ones and links; None: all."""
        for parts, member in self._members.items():
            if ".." in parts or (not parts[0] and len(parts) > 1) or re.match("[A-Za-z]:", parts[0]):
                raise DataError(
                    f"{self.path.name!r} holds names that lead out of it, such as {'/'.join(parts)[:80]!r}. Pack it "
                    "again."
                )
            if len(parts) > _DEEPEST:
                raise DataError(f"{self.path.name!r} holds over {_DEEPEST} folders within each other. Pack it again.")
            if member.flag_bits & 1:
                raise DataError(f"{self.path.name!r} is locked by a password. Unpack it and give the folder.")
            wanted = suffixes is None or Path(parts[-1]).suffix.lower() in suffixes
            if not wanted or not parts[-1] or any(map(_hidden, parts)):
                continue
            if member.external_attr >> 16 & 0o170000 == _LINK:
                continue
            if member.compress_type not in _PACKED_AS:
                raise DataError(f"{self.path.name!r} is packed in an unusual way. Pack it as an ordinary zip file.")
            yield File(parts=parts, size=member.file_size, changed=self._changed)

    def others(self) -> Counter[str]:
        """Count the files in it that are no images which can be read, by what ends their names."""
        shown = (parts for parts in self._members if parts[-1] and not any(map(_hidden, parts)))
        names = [Path(parts[-1]) for parts in shown]
        return Counter(name.suffix.lower() or name.name for name in names if name.suffix.lower() not in SUFFIXES)

    def notes(self) -> list[str]:
        """Say how the names were read, if that is a guess, and how many links are in it, which are not followed."""
        links = [m for m in self._members.values() if m.external_attr >> 16 & 0o170000 == _LINK]
        said = [f"{counted(len(links), 'link')} in the zip file left out."] * bool(links)
        return [*[self._note] * bool(self._note), *said]

    def read(self, file: File) -> bytes | None:
        """Read a file; None if it is damaged."""
        member = self._members.get(file.parts)
        if member is None:
            return None
        try:
            with self._zip.open(member) as stream:
                # Asked for by its stated size, as a whole it would be unpacked as far as it goes and only then cut.
                data = stream.read(file.size)
        except DataError:
            raise
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

    def notes(self) -> list[str]:
        """Say what is to be said of their names, and of links that were not followed."""

    def read(self, file: File) -> bytes | None:
        """Read one; None if it is gone or damaged."""


def in_order(files: Iterable[File]) -> list[File]:
    """Return files in the order of their paths."""
    return sorted(files, key=lambda file: file.parts)


def content_key_of(source: FileSource, files: list[File]) -> str:
    """Return a key that changes when a file, or a table beside them, is added, removed, renamed or written."""
    every = [*files, *in_order(source.listed((*label_tables.SUFFIXES, *label_tables.LISTS)))]
    return content_key([str(source.path.resolve()), *((file.parts, file.size, file.changed) for file in every)])


class _Walk:
    """The folders below one, read as far as they are asked for and each once.

    Links to folders are followed where every folder may be opened, unless they lead to one that is read already.

    Attributes:
        skipped: the links to folders that were not followed so far.
    """

    def __init__(self, root: Path) -> None:
        self.skipped: list[Path] = []
        self._seen: list[tuple[Path, list[str]]] = []
        self._rest = self._unseen(root)

    def folders(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield the folders and the names of their files, in order, without hidden ones."""
        for at in count():
            if at == len(self._seen):
                if (following := next(self._rest, None)) is None:
                    return
                self._seen.append(following)
            yield self._seen[at]

    def _unseen(self, root: Path) -> Iterator[tuple[Path, list[str]]]:
        read = [root.resolve()]
        for folder, inner, names in os.walk(root, followlinks=not access.restricted()):
            inner[:] = sorted(name for name in inner if not _hidden(name))
            for path in [Path(folder, name) for name in inner]:
                if not path.is_symlink():
                    continue
                target = path.resolve()
                if access.restricted() or any(_reached(target, home) for home in read):
                    inner.remove(path.name)
                    self.skipped.append(path)
                else:
                    read.append(target)
            yield Path(folder), [name for name in names if not _hidden(name)]


def _check_density(name: str, total: int, packed: int) -> None:
    """Refuse a zip file whose members are said to unpack to far more than images do, the same bytes again or nothing.

    Args:
        total: bytes of all members, unpacked.
        packed: bytes of the zip file before its table of contents.
    """
    if total > max(_MUCH, _DENSEST * packed):
        raise DataError(
            f"{name!r} unpacks to {total / 1e9:,.1f} GB, more than {_DENSEST} times its size, which no images do. Pack "
            "the images alone."
        )


def _packs(path: Path) -> bool:
    """Return whether a zip file holds images, or cannot be read, so that whoever reads it says why."""
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(PurePosixPath(name).suffix.lower() in SUFFIXES for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return True


def _reached(target: Path, home: Path) -> bool:
    """Return whether a folder is read where another one is, or holds it."""
    inside = target.is_relative_to(home) and not any(map(_hidden, target.relative_to(home).parts))
    return inside or home.is_relative_to(target)


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _links(paths: list[Path], why: str, root: Path) -> str:
    """Say of some links why they were passed over, with the first of them."""
    names = ", ".join(composed(path.relative_to(root).as_posix()) for path in paths[:3])
    more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
    what = "A link" if len(paths) == 1 else f"Each of {len(paths):,} links"
    return f"{what} {why}: {names}{more}."
