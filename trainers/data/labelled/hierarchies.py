"""Superclasses: from the dataset itself, from parts of names, or from a table.

A table is CSV or JSON, class, superclass, and so on:

class,group        {"lion": "cat", "wolf": "dog"}
lion,cat           {"lion": ["cat", "animal"], "wolf": ["dog", "animal"]}
wolf,dog           {"cat": ["lion"], "dog": ["wolf"]}
fish,(dropped)

The images of a class that is ``(dropped)`` are left out. A last column ``reviewed`` of yes and no is no level: it says
which superclasses somebody has looked through.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import numpy as np

from trainers.cells import one_line, some
from trainers.config import DataChoice
from trainers.data import access
from trainers.data.labelled.rows import Tree, grow, level_names
from trainers.data.labelled.table import LabelCodes, encode
from trainers.data.names import composed_text
from trainers.errors import DataError
from trainers.parameters import parameter
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Classes, and what is above each.

    Attributes:
        names: of the levels, finest first; the first is that of the classes.
        paths: for every name that was given: its class, superclass and so on, as many as there are levels. The images
            of a name that has none are left out.
        notes: what is to be said of it.
    """

    names: tuple[str, ...]
    paths: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HierarchyDescriptor(Descriptor):
    """A source of superclasses.

    Attributes:
        levels: called with the parameters and the names of the classes, or of the files; None: the tree as it is read.
            Raises a :class:`trainers.errors.DataError` where it cannot tell of each.
        of_files: whether the names are those of the files, and no label column is read.
        pinned: replaces parameters that name a file of this machine by its content.
    """

    levels: Callable[[Any, Sequence[str]], Levels] | None
    of_files: Callable[[Any], bool] = lambda _: False
    pinned: Callable[[Any], Any] = lambda parameters: parameters


def above(tree: Tree, levels: Levels) -> tuple[Tree, np.ndarray]:
    """Put superclasses in place of those of a tree.

    Returns:
        the tree of the rows whose classes ``levels`` tells of, and which rows of the N these are, bool [N].
    """
    names, rows = tree.hierarchy.names[0], tree.labels[:, 0]
    known = np.array([name in levels.paths for name in names])
    kept = known[rows]
    at = np.cumsum(known) - 1
    return planted([name for name in names if name in levels.paths], at[rows[kept]], levels), kept


def planted(names: Sequence[str], rows: np.ndarray, levels: Levels) -> Tree:
    """Make the tree of rows int64 [N], each an index of ``names``, which all have a path; classes that keep their names
    keep their order.
    """
    columns = []
    for level in range(len(levels.names)):
        values = [levels.paths[name][level] for name in names]
        same = not level and values == list(names) and len(set(names)) == len(names)
        made = LabelCodes(values=np.arange(len(names)), names=tuple(names)) if same else encode(values)
        columns.append(LabelCodes(values=made.values[rows], names=made.names))
    return grow(levels.names, columns)


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


MOST_BYTES = 500_000
"""Of a table: it is written into the configuration of the run, which has a bound of its own."""
DROPPED = "(dropped)"
"""The superclass of a class whose images are left out."""
REVIEWED = "reviewed"
_FORMULA = re.compile(r"'[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that tables for spreadsheets put a quote before, lest they run it."""
_NEEDED = "A mapping needs a row for each class: class, superclass and, if there are more levels, the next ones"

_TWO = (
    "{!r:.60} has two superclasses in the mapping, {!r:.60} and {!r:.60}. A class has one: remove a row, or give the "
    "two classes different names."
)


@dataclass(frozen=True, kw_only=True)
class MappingParameters:
    """Which table."""

    table: str = parameter(
        "",
        main=True,
        help="A CSV or JSON file, or its text: class, superclass and further ones, a row for each class.",
    )


def read_mapping(table: str, classes: Sequence[str]) -> Levels:
    """Read a table.

    Args:
        table: the text, or the name of a file.

    Raises:
        DataError: it cannot be read, lacks classes, or gives a class or superclass two parents.
    """
    text = composed_text(_text(table))
    known = set(classes)
    header, rows = _rows(text, known)
    widths = {len(row) for row in rows}
    if not rows or min(widths) < 2:
        raise DataError(f"{_NEEDED}; got {('a row of one: ' + str(min(rows, key=len))[:80]) if rows else 'none'}.")
    if len(widths) > 1:
        short = next(row for row in rows if len(row) < max(widths))
        raise DataError(f"{_NEEDED}, as many in every row; {short[0]!r:.60} has {len(short)} of {max(widths)}.")
    if not any(row[0] in known for row in rows):
        raise DataError(
            f"None of the classes of the mapping ({some([row[0] for row in rows])}) is one of the images, which are "
            f"{some(sorted(known))}."
        )
    rows = [(row[0], *[DROPPED] * (len(row) - 1)) if DROPPED in row else row for row in rows]
    _check_parents(rows)
    paths = {row[0]: row for row in rows}
    missing = [name for name in classes if name not in paths]
    if missing:
        raise DataError(f"The mapping lacks {len(missing):,} of {len(known):,} classes: {some(missing)}. Add them.")
    kept = {name: paths[name] for name in classes if DROPPED not in paths[name]}
    if not kept:
        raise DataError(f"The mapping drops all {len(known):,} classes. Give some of them a superclass.")
    names = header if header and len({*header}) == len(header) else level_names(len(rows[0]))
    unused = [name for name in paths if name not in known]
    notes = (f"In the mapping, without images: {some(unused)}.",) if unused else ()
    return Levels(names=names, paths=kept, notes=notes)


def _check_parents(rows: Sequence[tuple[str, ...]]) -> None:
    """Refuse a class or superclass with two parents, with the names."""
    for level in range(len(rows[0]) - 1):
        parents: dict[str, str] = {}
        for row in rows:
            name, parent = row[level : level + 2]
            if parents.setdefault(name, parent) != parent:
                raise DataError(_TWO.format(name, parents[name], parent))


def _rows(text: str, known: set[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the names of the levels (empty: none are written) and the rows."""
    if text.lstrip().startswith(("{", "[")):
        try:
            made = _of_json(json.loads(text, object_pairs_hook=_object), known)
            return (), [tuple(map(one_line, row)) for row in made]
        except (ValueError, RecursionError) as error:
            raise DataError(f"The mapping is no JSON that can be read: {error}.") from error
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        written = list(csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count)))
    except csv.Error as error:
        raise DataError(f"The mapping is no CSV that can be read: {error}.") from error
    rows = [tuple(_cell(one_line(cell.strip()), known) for cell in row) for row in written if any(map(str.strip, row))]
    blank = next((row for row in rows if not all(row)), None)
    if blank is not None:
        raise DataError(f"{_NEEDED}; in row {','.join(blank)!r:.80} a cell is empty.")
    headed = len(rows) > 1 and rows[0][0] not in known
    if headed and rows[0][-1] == REVIEWED:
        rows = [row[:-1] if len(row) == len(rows[0]) else row for row in rows]
    return (rows[0], rows[1:]) if headed else ((), rows)


def _cell(text: str, known: set[str]) -> str:
    return text[1:] if _FORMULA.match(text) and text not in known else text


def _of_json(value: Any, known: set[str]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list):
        yield from (tuple(map(str, row)) for row in value if isinstance(row, list))
        return
    if not isinstance(value, dict):
        raise ValueError("an object was needed, such as {class: superclass}")
    lists = all(isinstance(above, list) for above in value.values())
    turned = lists and not known & {*value} and any(str(name) in known for above in value.values() for name in above)
    for name, above in value.items():
        parts = above if isinstance(above, list) else [above]
        if not all(isinstance(part, (str, int)) for part in parts):
            raise ValueError(f"{name!r:.60} needs a superclass, or a list of them")
        if turned:
            yield from ((str(part), str(name)) for part in parts)
        else:
            yield (str(name), *map(str, parts))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of a JSON text; one with a name twice would keep the last alone."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if made.setdefault(name, value) != value:
            raise DataError(_TWO.format(name, made[name], value))
    return made


def _text(table: str) -> str:
    """Return the text of a table, which may be the name of its file."""
    if not table.strip():
        raise DataError(
            "Which classes belong together is not given: name a CSV or JSON file with class and superclass."
        )
    if "\n" in table or table.lstrip().startswith(("{", "[")):
        return table
    path = access.allowed_path(table.strip())
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"A mapping may have {MOST_BYTES:,} bytes; {path.name!r} has {path.stat().st_size:,}.")
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The mapping {table.strip()[:200]!r} cannot be read: {error}.") from error


def _pinned(parameters: MappingParameters) -> MappingParameters:
    text = _text(parameters.table)
    return dataclasses.replace(parameters, table=text if "\n" in text else f"{text}\n")


MAPPING = HierarchyDescriptor(
    name="mapping",
    title="A table of classes and superclasses",
    sentence="CSV or JSON: class, superclass and further ones; every class has a row.",
    parameters=MappingParameters,
    levels=lambda parameters, classes: read_mapping(parameters.table, classes),
    pinned=_pinned,
    order=1,
)


HIERARCHIES: Mapping[str, HierarchyDescriptor] = MappingProxyType(
    {each.name: each for each in (AS_READ, MAPPING, SEPARATOR)}
)


def superclasses(choice: DataChoice) -> tuple[HierarchyDescriptor, Any]:
    """Return where the superclasses of a choice come from, with its checked parameters."""
    descriptor = HIERARCHIES[choice.hierarchy.name]
    return descriptor, descriptor.checked(choice.hierarchy.parameters)
