"""Metric names: ``AP``, ``R_at_10``, ``AP_at_R_level1``, ``HAP`` ... read into what they ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainers.errors import ParameterError

HIERARCHICAL = ("HAP", "NDCG", "ASI")
_BINARY = re.compile(
    r"(?P<kind>AP|R|P|true_R)(?:_at_(?P<k>R|[1-9]\d*))?(?:_(?:level(?P<level>\d+)|(?P<any>any_level)))?"
)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One requested number.

    Attributes:
        name: as asked for, the key of the answer.
        kind: ``AP``, ``R``, ``P``, ``true_R``, ``HAP``, ``NDCG`` or ``ASI``.
        k: cut-off rank; 0: the number of relevant items R; None: the whole list.
        level: label column that says what is relevant (0: finest); None for hierarchical metrics, which use them all.
    """

    name: str
    kind: str
    k: int | None = None
    level: int | None = None


def parse(name: str, depth: int) -> Metric:
    """Read one name for labels of ``depth`` levels.

    Raises:
        ParameterError: no such metric, or no such level.
    """
    if name in HIERARCHICAL:
        return Metric(name=name, kind=name)
    found = _BINARY.fullmatch(name)
    if found is None or (found["k"] is None) != (found["kind"] == "AP" and found["k"] is None):
        raise ParameterError(
            f"There is no metric {name!r}; there are AP, AP_at_R, AP_at_10, R_at_1, P_at_5, true_R_at_10 (any number, "
            f"each also with _level0, _level1, ...), HAP, NDCG and ASI."
        )
    if found["k"] == "R" and found["kind"] in ("R", "true_R"):
        raise ParameterError(f"{name!r} needs a number for its cut-off, e.g. {found['kind']}_at_1.")
    level = depth - 1 if found["any"] else int(found["level"] or 0)
    if level >= depth:
        raise ParameterError(f"{name!r} asks for level {level}; the labels have levels 0 to {depth - 1}, 0 the finest.")
    k = {None: None, "R": 0}.get(found["k"], found["k"])
    return Metric(name=name, kind=found["kind"], k=None if k is None else int(k), level=level)


def parse_all(names: Sequence[str] | None, depth: int) -> tuple[Metric, ...]:
    """Read the requested names; None: the default ones."""
    if isinstance(names, str):
        raise ParameterError(f"metrics needs a list of names; the text {names!r} came. Write [{names!r}].")
    return tuple(parse(name, depth) for name in (default_metrics(depth) if names is None else names))


def default_metrics(depth: int) -> tuple[str, ...]:
    """What :func:`evaluate` reports unasked for labels of ``depth`` levels."""
    per_level = tuple(f"AP_level{level}" for level in range(depth)) if depth > 1 else ()
    return ("R_at_1", "AP_at_R", "AP", "HAP", "NDCG", "ASI", *per_level)
