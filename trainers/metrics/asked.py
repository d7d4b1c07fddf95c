"""The metrics that a run is asked for beside those that its kind always shows."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from trainers.errors import ParameterError
from trainers.metrics.catalogue import family
from trainers.metrics.names import describe, parse
from trainers.parameters import Menu

MOST = 12
"""Metrics that a run can be asked for; a card of the page has three more rows for them."""
_DEEPEST = 1000  # more levels than a name can hold: before the images are read their number is not known
MENU = Menu(
    titles=MappingProxyType(
        {name: describe(name).title for measure in family("ranking").values() for name in measure.offered}
    ),
    check=lambda name: parse(name, _DEEPEST),
)


def check_number(names: Sequence[str]) -> None:
    """Check how many there are.

    Raises:
        ParameterError: too many.
    """
    if len(names) > MOST:
        raise ParameterError(f"A run measures at most {MOST} metrics beside its own; got {len(names)}. Ask for fewer.")


def check_size(names: Sequence[str], depth: int, images: int, results: int | None = None) -> None:
    """Check names against the test set.

    Args:
        depth: levels of its labels.
        images: of the test set, each of which is searched for among the others.
        results: of a query; None: those are all of them.

    Raises:
        ParameterError: one asks for a level that there is not, or looks at more results than there are.
    """
    results = images - 1 if results is None else results
    for name in names:
        k = parse(name, depth).k
        if k is not None and k > results:
            raise ParameterError(
                f"{name} looks at the first {k:,} results, and the test set has {images:,} images, so a query has "
                f"{results:,} results. Ask for a smaller number."
            )


def measurable(names: Sequence[str], depth: int, images: int) -> list[str]:
    """Return the names that look at fewer results than ``images``; the others are about 1 for any ranking."""
    return [name for name in names if (parse(name, depth).k or 0) < images]


def joined(first: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return the names of both, each once, ``first`` first."""
    return list(dict.fromkeys([*first, *asked]))
