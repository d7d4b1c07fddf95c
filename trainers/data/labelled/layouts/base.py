"""What every benchmark's layout states, and the files that it is read from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from trainers.data import access
from trainers.data.labelled.files import File, FileSource
from trainers.data.labelled.label_tables import Names, decoded
from trainers.errors import DataError
from trainers.registry import Descriptor

LISTS = (".txt", ".json", ".mat", ".csv")
"""Endings of the lists that benchmarks come with."""
MOST_BYTES = 400_000_000
"""Of one list; that of iNaturalist 2018 has 130 MB."""
MOST_IN_PUBLIC = 20_000_000
"""The same where strangers choose what is read: the values of a list take ten times as much."""
TRAIN, TEST = "train", "test"
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class ImageRow:
    """What a layout says of an image.

    Attributes:
        split: its split.
        labels: its classes, finest first, then what else is known of it; None where that is nothing.
        role: :data:`trainers.data.base.QUERY` or :data:`GALLERY`; None: the test has none.
        camera: that took it; None: unknown.
    """

    split: str
    labels: tuple[str | None, ...]
    role: str | None = None
    camera: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a layout says of the images.

    Attributes:
        levels: of the labels, finest first.
        entries: of the images that are part of the set, by their place among the files.
        notes: what is to be said of it.
        junk: images that are left out, which the notes tell of.
        more: names of the labels behind those of the levels, which may be chosen.
    """

    levels: tuple[str, ...]
    entries: Mapping[int, ImageRow]
    notes: tuple[str, ...] = ()
    junk: int = 0
    more: tuple[str, ...] = ()


class Handed:
    """The files of a benchmark as they were handed out: the images by name, the lists by theirs.

    Attributes:
        files: the images.
    """

    def __init__(self, source: FileSource, files: Sequence[File]) -> None:
        self.files = files
        self._source = source

    @cached_property
    def _lists(self) -> dict[str, File]:
        """The lists by their names in small letters; of several the outermost."""
        found = sorted(self._paths.values(), key=lambda file: (-len(file.parts), file.parts))
        return {file.parts[-1].lower(): file for file in found}

    @cached_property
    def _paths(self) -> dict[str, File]:
        """The lists by their paths in small letters."""
        return {"/".join(file.parts).lower(): file for file in self._source.listed(LISTS)}

    @cached_property
    def _names(self) -> Names:
        return Names([file.parts for file in self.files])

    def named(self, pattern: str) -> list[str]:
        """Return the names of lists, in small letters, that an expression fits as a whole."""
        return sorted(name for name in self._lists if re.fullmatch(pattern, name))

    def ending(self, pattern: str) -> list[str]:
        """Return the paths of lists, in small letters, whose end an expression fits."""
        return sorted(path for path in self._paths if re.search(f"(?:^|/){pattern}$", path))

    def data(self, name: str) -> bytes:
        """Return the bytes of a list, by its name or its path.

        Raises:
            DataError: it cannot be read, or is too large.
        """
        file = self._lists.get(name) or self._paths[name]
        most = MOST_IN_PUBLIC if access.public() else MOST_BYTES
        data = self._source.read(file) if file.size <= most else None
        if data is None:
            raise DataError(f"{'/'.join(file.names)} cannot be read, or has more than {most // 10**6} MB.")
        return data

    def rows(self, name: str) -> Iterator[list[str]]:
        """Yield the words of the lines of a text list; backslashes in it are slashes."""
        for line in decoded(self.data(name)).splitlines():
            words = line.replace("\\", "/").split()
            if words:
                yield words

    def image(self, name: str, *, end: str = "") -> int | None:
        """Return the place of the image of a name, which may begin with other folders; None: it is not here.

        Args:
            end: what its path has to end with, where other folders have images that are called the same.
        """
        row = self._names.row(name, ())
        if row is None or not end:
            return row
        path = "/".join(("", *self.files[row].names))
        return row if path.casefold().endswith(f"/{end}".casefold()) else None


@dataclass(kw_only=True)
class Missing:
    """Names in lists of images that are not here."""

    names: list[str] = field(default_factory=list)

    def notes(self) -> tuple[str, ...]:
        """Count them and name some; nothing if there are none."""
        if not self.names:
            return ()
        more = f" and {len(self.names) - _SHOWN:,} more" if len(self.names) > _SHOWN else ""
        what = "image of its lists is" if len(self.names) == 1 else "images of its lists are"
        return (f"{len(self.names):,} {what} not here: {', '.join(name[:80] for name in self.names[:_SHOWN])}{more}.",)


@dataclass(frozen=True, kw_only=True)
class BenchmarkLayout(Descriptor):
    """A benchmark as it is handed out.

    Attributes:
        read: tells of its images; None: it is another set. Raises a :class:`trainers.errors.DataError` where its lists
            cannot be read.
    """

    read: Callable[[Handed], Reading | None]


def first_half(classes: Sequence[str]) -> set[str]:
    """Return the classes that are trained on where the first half is, as is usual for CUB-200-2011 and Cars-196."""
    return set(classes[: (len(classes) + 1) // 2])


def halves_note(trained: int, classes: int, what: str) -> str:
    """Say how the classes are divided."""
    return f"Trained on the first {trained:,} of its {classes:,} {what}, tested on the others, as in metric learning."
