"""What names tell: the groups of a class, coarsest first, and what is left of the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainers.data.labelled.hierarchies.base import Levels
from trainers.data.labelled.tree import level_names

OF = ("classes", "files")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A name: ``groups`` coarsest first, and its ``rest``, the class."""

    groups: tuple[str, ...]
    rest: str


def gathered(named: Mapping[str, Named], files: bool, titles: Sequence[str] = ()) -> Levels:
    """Make levels of names.

    Args:
        files: the class is the rest of a name, so that several names may be of one; else each name is that of a class.
        titles: of the groups, coarsest first; empty: made up.
    """
    paths = {name: (each.rest if files else name, *reversed(each.groups)) for name, each in named.items()}
    depth = max((len(path) for path in paths.values()), default=1)
    above = tuple(reversed(titles)) if titles else level_names(depth)[1:]
    return Levels(names=("class", *above), paths=paths)


def stem(file: str) -> str:
    """Return the name of a file without folders and ending."""
    return PurePosixPath(file).stem
