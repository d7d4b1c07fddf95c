"""Names in the tar files of a WebDataset, divided into the key of an image and the field: ``a/scan 0.5.png``.

The format divides at the first point of a name. Where that makes no fields that several images have, as with points in
the names themselves, the last words are the field.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from trainers.errors import DataError, brief

_LOOKED_AT = 60  # names that tell how they are divided; those of a file of the Hub are fetched for it
_RARE = 0.25  # of the names may have a field that no other key has
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PACKED = ("gz", "bz2", "xz", "zst", "lz4")
_POINT = "\ue000"  # stands for a point in a key while `datasets` reads it
Division = Callable[[str], tuple[str, str]]
Member = tuple[str, Any]


def correct(builder: Any, source: str) -> None:
    """Have a builder of ``datasets`` for WebDataset divide names as they are meant, and name the tar file that fails.

    Args:
        source: of the dataset, for messages.
    """
    inner, found = builder._get_pipeline_from_tar, list[Division]()

    def pipeline(path: str, members: Iterable[Member]) -> Iterator[dict[str, Any]]:
        try:
            if not found:
                found.append(division([name for name, _ in islice(members, _LOOKED_AT)]))
            for example in inner(path, _renamed(members, found[0])):
                yield {**example, "__key__": example["__key__"].replace(_POINT, ".")}
        except (tarfile.TarError, ValueError, EOFError) as error:
            raise DataError(f"{PurePosixPath(path).name!r} of {source!r} cannot be read: {brief(error)}") from error

    builder._get_pipeline_from_tar = pipeline


def division(names: list[str]) -> Division:
    """Return how names are divided: the first way that makes fields which several keys have, or else at the last point.

    Args:
        names: of the first files, as parts of a path joined by ``/``.
    """
    shown = [name for name in names if not _hidden(name)]
    return next((way for way in (_at_first, _before_words) if _recurs(shown, way)), _at_last)


def _recurs(names: list[str], way: Division) -> bool:
    """Return whether all fields are words, and nearly all are those of several keys, unless there is one key."""
    pairs = {way(name) for name in names}
    counts = Counter(field for _, field in pairs)
    if not all(_WORD.fullmatch(word) for field in counts for word in field.split(".")):
        return False
    rare = sum(count == 1 for count in counts.values())
    return rare <= _RARE * len(pairs) or len({key for key, _ in pairs}) == 1


def _renamed(members: Iterable[Member], way: Division) -> Iterator[Member]:
    """Write names so that ``datasets``, which divides at the first point, divides them the same way."""
    for name, file in members:
        if not _hidden(name):
            key, field = way(name)
            folder, slash, stem = key.rpartition("/")
            yield f"{folder}{slash}{stem.replace('.', _POINT)}.{field}", file


def _at_first(name: str) -> tuple[str, str]:
    folder, slash, last = name.rpartition("/")
    stem, _, field = last.partition(".")
    return f"{folder}{slash}{stem}", field.lower()


def _before_words(name: str) -> tuple[str, str]:
    """Divide before the words at the end; something is left for the key."""
    folder, slash, last = name.rpartition("/")
    parts = last.split(".")
    start = len(parts) - 1
    while start > 1 and _WORD.fullmatch(parts[start - 1]):
        start -= 1
    return f"{folder}{slash}{'.'.join(parts[:start])}", ".".join(parts[start:]).lower()


def _at_last(name: str) -> tuple[str, str]:
    folder, slash, last = name.rpartition("/")
    parts = last.split(".")
    fields = 2 if len(parts) > 2 and parts[-1].lower() in _PACKED else 1
    return f"{folder}{slash}{'.'.join(parts[:-fields])}", ".".join(parts[-fields:]).lower()


def _hidden(name: str) -> bool:
    """Return whether a file is no part of an image: without a field, or left by a program."""
    parts = name.split("/")
    return "." not in parts[-1] or any(map(_left_behind, parts))


def _left_behind(part: str) -> bool:
    return part == "__MACOSX" or (part.startswith(".") and part != ".")
