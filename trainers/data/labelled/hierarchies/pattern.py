"""Superclasses from names by a regular expression whose groups are the levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainers.cells import some
from trainers.data import access
from trainers.data.labelled.hierarchies._names import OF, Named, gathered, stem
from trainers.data.labelled.hierarchies.base import HierarchyDescriptor, Levels
from trainers.errors import DataError
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Which expression, of which names."""

    expression: str = parameter(
        "",
        main=True,
        help="Python's regular expression; its groups are superclasses, coarsest first; of files a group called class, "
        "or the last one, is the class: (?P<kind>[a-z]+)_(?P<class>[a-z]+).",
    )
    of: str = parameter("classes", choices=OF, title="Names of", help="classes, or files without folder and ending.")


def _levels(parameters: Parameters, names: Sequence[str]) -> Levels:
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


DESCRIPTOR = HierarchyDescriptor(
    name="pattern",
    title="A regular expression",
    sentence="Its groups are superclasses, coarsest first. On one's own machine only.",
    parameters=Parameters,
    levels=_levels,
    of_files=lambda parameters: parameters.of == "files",
    order=3,
)
