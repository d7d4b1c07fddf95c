"""Zip files in a folder or a repository, each read as a folder named after it: ``train.zip`` as ``train/``.

A zip file of one folder of its own name is that folder, and pieces (``train-1.zip``, ``train-2.zip``) of class folders
are one. Zip files in zip files are not read.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from trainers.cells import some
from trainers.data.image_file import SUFFIXES
from trainers.data.labelled.files import Archive, File, FileSource, Folder, Kind, in_order
from trainers.data.labelled.splits import is_split, role_of
from trainers.data.names import composed
from trainers.errors import DataError

MOST_ZIPS = 200
"""That are read of a dataset; each is kept open."""
_ZIP = (".zip",)
_UNPACKED = 0.5  # of a zip file's images lie beside it
_NUMBER = re.compile(r"[ _.-]*\(?(part|shard|piece)?[ _.-]*\d+([ _.-]*of[ _.-]*\d+)?\)?$", re.IGNORECASE)
Parts = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Zip:
    """A zip file beside images or others: its own place, its files, and the folder that it is read as."""

    file: File
    archive: Archive
    inner: Sequence[File]
    home: Parts

    @classmethod
    def of(cls, file: File, archive: Archive) -> _Zip:
        """List its files; read as a folder named after it."""
        home = (*file.parts[:-1], PurePosixPath(file.parts[-1]).stem)
        return cls(file=file, archive=archive, inner=list(archive.listed(None)), home=home)

    @property
    def name(self) -> str:
        """Its path."""
        return "/".join(self.file.names)

    @property
    def images(self) -> list[File]:
        """Return its images."""
        return [file for file in self.inner if _ends(file, SUFFIXES)]

    def paths(self, home: Parts | None = None) -> list[Parts]:
        """Return the paths of its images, as if it were the folder ``home``."""
        return [(*(self.home if home is None else home), *file.parts) for file in self.images]

    def beside(self, sizes: Mapping[Parts, int]) -> bool:
        """Return whether its images lie unpacked beside it, in a folder of its name or not."""
        folders, images = (self.home, self.file.parts[:-1]), self.images
        found = max(sum(sizes.get((*home, *file.parts)) == file.size for file in images) for home in folders)
        return found > _UNPACKED * len(images)


class Packed:
    """The files of a source with those in its zip files; it is a :class:`trainers.data.labelled.files.FileSource`.

    Args:
        outer: where the zip files lie.
        unpack: opens one.

    Raises:
        DataError: too many zip files, or one cannot be read and nothing lies beside them.
    """

    def __init__(self, outer: FileSource, unpack: Callable[[File], Archive]) -> None:
        self._outer = outer
        self._notes: list[str] = []
        loose = {file.parts: file.size for file in outer.files()}
        self._zips = self._placed(list(self._opened(unpack, loose)), loose)
        self._packed: dict[Parts, tuple[Archive, File]] = {}
        taken = {file.parts for file in outer.listed(None)}
        for each in self._zips:
            for file in each.inner:
                parts = (*each.home, *file.parts)
                if parts not in taken and not _ends(file, _ZIP):
                    self._packed.setdefault(parts, (each.archive, file))

    @property
    def path(self) -> Path:
        """Where the zip files lie, for messages."""
        return self._outer.path

    def files(self) -> Iterator[File]:
        """Yield the image files."""
        return self.listed(SUFFIXES)

    def listed(self, suffixes: tuple[str, ...] | None) -> Iterator[File]:
        """Yield the files whose names end so (small letters); None: all."""
        yield from self._outer.listed(suffixes)
        for parts, (_, file) in self._packed.items():
            if suffixes is None or _ends(file, suffixes):
                yield replace(file, parts=parts)

    def others(self) -> Counter[str]:
        """Count the files that are no images which can be read, by what ends their names."""
        return sum((each.archive.others() for each in self._zips), self._outer.others())

    def notes(self) -> list[str]:
        """Say which zip files are read as which folders, and what is to be said of each."""
        said = [f"{each.name}: {note}" for each in self._zips for note in each.archive.notes()]
        return [*self._outer.notes(), *self._notes, *said]

    def read(self, file: File) -> bytes | None:
        """Read a file; None if it is gone or damaged."""
        archive, inner = self._packed.get(file.parts, (None, file))
        return self._outer.read(file) if archive is None else archive.read(inner)

    def _opened(self, unpack: Callable[[File], Archive], loose: Mapping[Parts, int]) -> Iterator[_Zip]:
        """Open the zip files that are read; where there are other images, those that cannot be are named."""
        found = in_order(self._outer.listed(_ZIP))
        if len(found) > MOST_ZIPS:
            raise DataError(
                f"{self.path.name!r} holds {len(found):,} zip files; {MOST_ZIPS} can be read. Unpack them, or pack "
                "them into fewer."
            )
        unpacked = []
        for file in found:
            try:
                each = _Zip.of(file, unpack(file))
            except DataError as error:
                if not loose:
                    raise
                self._notes.append(f"{'/'.join(file.names)} is not read: {error}")
                continue
            if each.images and each.beside(loose):
                unpacked.append(each.name)
            else:
                yield each
        if unpacked:
            verb = "is not read: its" if len(unpacked) == 1 else "are not read: their"
            self._notes.append(f"{some(unpacked)} {verb} images lie beside as files.")

    def _placed(self, zips: list[_Zip], loose: Collection[Parts]) -> list[_Zip]:
        """Say as which folder each is read."""
        with_images = [each for each in zips if each.images]
        if len(with_images) == 1 and not loose:
            placed = [replace(each, home=each.file.parts[:-1]) for each in zips]
        else:
            placed = [replace(each, home=_home(each)) for each in _joined(zips)]
        read = [
            f"{each.name} ({len(each.images):,} image{'s' * (len(each.images) != 1)})"
            for each in placed
            if each.images and (loose or len(with_images) > 1)
        ]
        if read:
            self._notes.append(f"Read as {'a folder' if len(read) == 1 else 'folders'}: {some(read)}.")
        nested = [f"{each.name}/{'/'.join(file.names)}" for each in zips for file in each.inner if _ends(file, _ZIP)]
        if nested:
            self._notes.append(f"Not read, since they lie in a zip file: {some(nested)}. Unpack them.")
        return placed


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What a folder or a file holds.

    Attributes:
        kind: images, tables for ``datasets``, or None: neither.
        source: reads the files; None: this is a file, and no zip file.
        files: its images in path order, those in zip files too; empty where it holds none.
    """

    kind: Kind | None
    source: FileSource | None = None
    files: list[File] = field(default_factory=list)


def scan(path: Path, encoding: str | None = None, *, metadata: bool = False) -> Scan:
    """Find out what a folder or a zip file holds, and list its images.

    Args:
        encoding: as of :class:`trainers.data.labelled.files.Archive`.
        metadata: as of :meth:`trainers.data.labelled.files.Folder.kind`.

    Raises:
        DataError: a zip file cannot be used.
    """
    if path.is_file():
        if not zipfile.is_zipfile(path):
            return Scan(kind=None)
        archive = Archive(path, encoding)
        return Scan(kind="images", source=archive, files=in_order(archive.files()))
    folder = Folder(path=path, encoding=encoding)
    if (kind := folder.kind(metadata=metadata)) != "images":
        return Scan(kind=kind, source=folder)
    packed, images = with_zips(folder, folder.opened)
    return Scan(kind=kind, source=packed, files=images)


def with_zips(outer: FileSource, unpack: Callable[[File], Archive]) -> tuple[FileSource, list[File]]:
    """List all image files of a source, with those in its zip files, in path order; as of :class:`Packed`."""
    source = Packed(outer, unpack) if any(True for _ in outer.listed(_ZIP)) else outer
    return source, in_order(source.files())


def _home(each: _Zip) -> Parts:
    """Return the folder that a zip file is read as; that around it where it holds one folder of its name."""
    tops = {file.names[0] if len(file.parts) > 1 else "" for file in each.images}
    if len(tops) != 1:
        return each.home
    (top,), name = tops, composed(each.home[-1])
    alike = _plain(top) == _plain(name) or (_says_split(top) and _says_split(name))
    return each.home[:-1] if top and alike else each.home


def _joined(zips: Sequence[_Zip]) -> list[_Zip]:
    """Give pieces of one folder the same home: names that differ by a number, of different files in folders."""
    groups: dict[Parts, list[_Zip]] = {}
    for each in zips:
        groups.setdefault((*each.home[:-1], _NUMBER.sub("", each.home[-1])), []).append(each)
    homes: dict[str, Parts] = {}
    for home, group in groups.items():
        paths = [path for each in group for path in each.paths(())]
        pieces = len(group) > 1 and all(len(path) > 1 for path in paths) and len({*paths}) == len(paths)
        homes |= {each.name: home if home[-1] else home[:-1] for each in group if pieces}
    return [replace(each, home=homes.get(each.name, each.home)) for each in zips]


def _says_split(name: str) -> bool:
    return is_split(name) or role_of(name) is not None


def _plain(name: str) -> str:
    return _NUMBER.sub("", name.casefold()) or name.casefold()


def _ends(file: File, suffixes: tuple[str, ...]) -> bool:
    return PurePosixPath(file.parts[-1]).suffix.lower() in suffixes
