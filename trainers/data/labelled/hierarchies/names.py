"""Superclasses from the dataset itself, or from what the names of classes tell.

Superclasses from the parts of names: the class ``animal_dog`` is of the group animal, as is the file
``animal_dog_03.jpg`` of its class dog.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainers.cells import some
from trainers.data import access
from trainers.data.labelled.hierarchies.base import HierarchyDescriptor, Levels
from trainers.data.labelled.rows import level_names
from trainers.errors import DataError
from trainers.parameters import parameter

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
        "classes", choices=OF, title="Names of", help="classes, or files, whose last number is left out."
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
    divided = {name: _parts(stem(name) if files else name, mark, files) for name in names}
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
    named = {
        name: Named(groups=tuple(parts[:wanted]), rest=mark.join(parts[wanted:])) for name, parts in divided.items()
    }
    return gathered(named, files)


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


@dataclass(frozen=True, kw_only=True)
class PatternParameters:
    """Which expression, of which names."""

    expression: str = parameter(
        "",
        main=True,
        help="Python's regular expression; its groups are superclasses, coarsest first; of files a group called class, "
        "or the last one, is the class: (?P<kind>[a-z]+)_(?P<class>[a-z]+).",
    )
    of: str = parameter("classes", choices=OF, title="Names of", help="classes, or files without folder and ending.")


def _matched(parameters: PatternParameters, names: Sequence[str]) -> Levels:
    if access.public():
        raise DataError(
            "Regular expressions are not taken on a public page, since one can keep it busy for hours. Use a "
            "separator, or a table of classes and superclasses."
        )
    files = parameters.of == "files"
    expression = _compiled(parameters.expression, 1 if files else 0)
    named_class = "class" in expression.groupindex
    last = expression.groupindex["class"] if named_class else expression.groups if files else 0
    groups = [number for number in range(1, expression.groups + 1) if number != last]
    fitting, missed = dict[str, Named](), []
    for name in names:
        met = expression.search(stem(name) if files else name)
        parts = () if met is None else tuple((met[number] or "").strip() for number in groups)
        rest = name if met is None or not last else (met[last] or "").strip()
        if met is None or not all(parts) or not rest:
            missed.append(name)
        else:
            fitting[name] = Named(groups=parts, rest=rest)
    if missed and (not files or not fitting):
        compared = [stem(name) for name in missed] if files else missed
        what = "names of files without folder and ending" if files else "names"
        raise DataError(
            f"The expression {parameters.expression!r:.80} does not fit {len(missed):,} of {len(names):,} {what}: "
            f"{some(compared)}. Change it so that it does, or use a table."
        )
    titles = {number: name for name, number in expression.groupindex.items()}
    made = gathered(fitting, files, [titles[each] for each in groups] if {*groups} <= {*titles} else ())
    notes = (f"{len(missed):,} files do not fit the expression and were left out: {some(missed)}.",) if missed else ()
    return Levels(names=made.names, paths=made.paths, notes=notes)


def _compiled(text: str, least: int) -> re.Pattern[str]:
    try:
        expression = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise DataError(f"A regular expression was needed; {text!r:.80} is none: {error}.") from error
    if expression.groups < max(1, least):
        raise DataError(
            f"An expression with a group for each superclass was needed, such as ([a-z]+)_; got {text!r:.80}."
        )
    return expression


PATTERN = HierarchyDescriptor(
    name="pattern",
    title="A regular expression",
    sentence="Its groups are superclasses, coarsest first. On one's own machine only.",
    parameters=PatternParameters,
    levels=_matched,
    of_files=lambda parameters: parameters.of == "files",
    order=3,
)


DESCRIPTORS = (AS_READ, SEPARATOR, PATTERN)
