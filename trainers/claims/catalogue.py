"""The claims, from the tables in ``papers``: a file for each work, a table for each claim.

The keys of a table are those of :class:`trainers.claims.base.Claim`, and:

- ``plan``: one of :data:`trainers.claims.plans.PLANS`; none where something is lacking.
- ``printed``: a figure of a recipe stands in it as ``{recipe/metric/row}``; two of them, joined by *and*, as
  ``{recipe/metric/row/row}``.
- ``differences``: each a metric and its sides, two or four of them; from that of the first two that of the others is
  taken off. ``expected``, ``margin`` and ``relative`` are of all of them.
- ``under``: the condition of every side, or a list with one for each side.
- ``ours``: sentences, and names of those in ``notes.toml``.
- ``recipe``: the name of a recipe, and arms in place of its own; ``vary`` and ``settings`` as its sweep has them.
  ``command``: in place of a recipe, as it is.

Claims are listed in the order of their tables.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ConfigDict, ValidationError

from trainers.claims.base import Claim, Difference, Expected, Side
from trainers.claims.plans import PLANS, ClaimPlan
from trainers.parameters import entry
from trainers.recipes.catalogue import RECIPES, Recipe
from trainers.recipes.command import command
from trainers.values import adapter

_FIGURE = re.compile(r"\{([^{}]+)\}")


def full_size(name: str, *arms: str, vary: Mapping[str, Sequence[Any]] | None = None, **settings: Any) -> str:
    """Write the command of a recipe.

    Args:
        name: of the recipe.
        arms: in place of its own, as on the command line; a bare name stands for the one arm of the recipe with that
            name, and its parameters. None: its own.
        vary: values of settings that the sweep goes through besides.
        settings: in place of its own.
    """
    recipe = entry(RECIPES, name, "recipe")
    chosen = [_own(recipe, arm) for arm in arms]
    return command(recipe.changed(chosen, **settings) if arms or settings else recipe, vary=vary)


def printed(sentence: str) -> str:
    """Fill in what the paper printed: ``{recipe/metric/row}`` is the figure of a recipe as it names the metric and the
    row, ``{recipe/metric/row/row}`` two of them, joined by *and*.

    Raises:
        ValueError: a recipe has no such figure, or more than one.
    """
    return _FIGURE.sub(_figures, sentence)


def _figures(found: re.Match[str]) -> str:
    name, metric, *rows = found[1].split("/")
    recipe = entry(RECIPES, name, "recipe")
    figures = [[each.value for each in recipe.figures if (each.metric, each.row) == (metric, row)] for row in rows]
    if any(len(values) != 1 for values in figures):
        raise ValueError(f"{found[0]} is not one figure of the recipe {name} a row")
    return " and ".join(f"{values[0]:.1f}" for values in figures)


def _own(recipe: Recipe, arm: str) -> str:
    alike = [written for written in recipe.arms.value if written.partition(":")[0] == arm]
    return alike[0] if len(alike) == 1 else arm


FOLDER = Path(__file__).parent / "papers"
NOTES = "notes"
_ORDER = ("rank_losses", "contextual", "contrastive", "spurious")
"""The works as claims are listed."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A claim as it is written."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    title: str
    statement: str
    where: str
    printed: str = ""
    plan: str = ""
    differences: tuple[tuple[str, ...], ...] = ()
    under: dict[str, Any] | tuple[dict[str, Any], ...] = ()
    expected: Expected = "larger"
    margin: float = 0.0
    relative: bool = False
    ours: tuple[str, ...] = ()
    tried: str = ""
    lacking: str = ""
    recipe: tuple[str, ...] = ()
    vary: dict[str, tuple[Any, ...]] | None = None
    settings: dict[str, Any] | None = None
    command: str = ""


def read(folder: Path = FOLDER) -> Mapping[str, Claim]:
    """Read the claims of every work.

    Raises:
        ValueError: a file cannot be read, or a claim is wrong; it names the file, the claim and the key.
    """
    notes = _values(folder / f"{NOTES}.toml")
    claims: dict[str, Claim] = {}
    for work in _ORDER:
        path = folder / f"{work}.toml"
        for name, values in _values(path).items():
            with _at(f"{path.name}, claim {name}"):
                if name in claims:
                    raise ValueError(f"there is one of that name in {claims[name].work}.toml")
                claims[name] = _claim(name, work, values, notes)
    return MappingProxyType(claims)


def _values(path: Path) -> dict[str, Any]:
    with _at(path.name):
        return tomllib.loads(path.read_text(encoding="utf-8"))


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Say where an error is."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def _claim(name: str, work: str, values: object, notes: Mapping[str, Any]) -> Claim:
    try:
        table = adapter(_Table).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"key {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    with _at("key plan"):
        plan = entry(PLANS, table.plan, "plan") if table.plan else None
    with _at("key printed"):
        figures = printed(table.printed)
    with _at("key differences"):
        differences = tuple(_difference(row, table, plan) for row in table.differences)
    with _at("key ours"):
        ours = tuple(sentence for written in table.ours for sentence in _sentences(written, notes))
    with _at("key recipe"):
        recipe = table.command or full_size(*table.recipe, vary=table.vary, **table.settings or {})
    return Claim(
        name=name,
        title=table.title,
        work=work,
        statement=table.statement,
        where=table.where,
        printed=figures,
        differences=differences,
        plan=plan.make if plan else None,
        begins=plan.begins if plan else None,
        minutes=plan.minutes if plan else 0.0,
        ours=ours,
        tried=table.tried,
        lacking=table.lacking,
        recipe=recipe,
    )


def _difference(row: tuple[str, ...], table: _Table, plan: ClaimPlan | None) -> Difference:
    metric, *names = row
    if len(names) not in (2, 4):
        raise ValueError(f"a metric with two or four sides was needed, not {row}")
    under = (table.under,) * len(names) if isinstance(table.under, dict) else table.under or ({},) * len(names)
    if len(under) != len(names):
        raise ValueError(f"the list under has {len(under)} conditions for {len(names)} sides")
    arms = plan.arms if plan else {}
    first, second, *beyond = (
        Side(arm=arms.get(name, name), under=condition, name=name if name in arms else "")
        for name, condition in zip(names, under, strict=True)
    )
    return Difference(
        metric=metric,
        first=first,
        second=second,
        beyond=(beyond[0], beyond[1]) if beyond else None,
        relative=table.relative,
        expected=table.expected,
        margin=table.margin,
    )


def _sentences(written: str, notes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence, or those that a name stands for."""
    if written.endswith("."):
        yield written
        return
    if written not in notes:
        raise ValueError(f"{written!r} is no sentence and no name in {NOTES}.toml")
    known = notes[written]
    for inner in [known] if isinstance(known, str) else known:
        yield from _sentences(inner, notes)


CLAIMS: Mapping[str, Claim] = read()
"""Every claim by name."""
