"""Superclasses from the dataset itself, or from what the names of classes tell.

Superclasses from the parts of names: the class ``animal_dog`` is of the group animal, as is the file
``animal_dog_03.jpg`` of its class dog.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainers.cells import some
from trainers.data.labelled.hierarchies.base import HierarchyDescriptor, Levels
from trainers.data.labelled.rows import level_names
from trainers.errors import DataError
from trainers.parameters import parameter

AS_READ = HierarchyDescriptor(
    name="as_read",
    title="As the images have it",
    sentence="Folders or label columns, as they are read.",
    levels=None,
    order=0,
)


@dataclass(frozen=True, kw_only=True)
class SeparatorParameters:
    """How names are divided."""

    separator: str = parameter(
        "_", main=True, help="Between the parts of a name, coarsest first; the word space for a space."
    )
    of: str = parameter(
        "classes",
        choices=("classes", "files"),
        title="Names of",
        help="classes, or files, whose last number is left out.",
    )
    levels: int | None = parameter(
        None,
        low=1,
        high=8,
        title="Parts that are superclasses",
        help="As many as every name has if not given.",
    )


def _separated(parameters: SeparatorParameters, names: Sequence[str]) -> Levels:
    mark = {"space": " "}.get(parameters.separator, parameters.separator)
    files = parameters.of == "files"
    divided = {name: _parts(PurePosixPath(name).stem if files else name, mark, files) for name in names}
    most = min((len(parts) - 1 for parts in divided.values()), default=0)
    wanted = parameters.levels if parameters.levels is not None else most
    short = [name for name, parts in divided.items() if len(parts) - 1 < wanted]
    if short or (not wanted and not files):
        short = short or [name for name, parts in divided.items() if len(parts) == 1]
        times = max(1, wanted)
        raise DataError(
            f"{len(short):,} of {len(divided):,} names have no {mark!r} {times} time{'s' if times > 1 else ''}: "
            f"{some(short)}. Choose another separator, fewer superclasses, or a table."
        )
    paths = {
        name: (mark.join(parts[wanted:]) if files else name, *reversed(parts[:wanted]))
        for name, parts in divided.items()
    }
    return Levels(names=level_names(wanted + 1), paths=paths)


def _parts(name: str, mark: str, files: bool) -> list[str]:
    parts = [part for part in name.split(mark) if part.strip()]
    if files and len(parts) > 1 and parts[-1].isdigit():
        parts = parts[:-1]
    elif files:
        parts = [*parts[:-1], re.sub(r"[\W_]*\d+$", "", parts[-1]) or parts[-1]] if parts else [name]
    return parts or [name]


SEPARATOR = HierarchyDescriptor(
    name="separator",
    title="Parts of names",
    sentence="animal_dog is in the group animal; the file animal_dog_03.jpg is of its class dog.",
    parameters=SeparatorParameters,
    levels=_separated,
    of_files=lambda parameters: parameters.of == "files",
    order=2,
)


DESCRIPTORS = (AS_READ, SEPARATOR)
