"""The command line of settings: what its parser reads back as the same configuration."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainers.config import PLAN_VERBS
from trainers.parameters import Choice, flat, parse_choice
from trainers.plans.config import FIRST, SweepConfig
from trainers.recipes.catalogue import SEEDS, Recipe

PROGRAM = "python -m trainers"


def command(recipe: Recipe, data: str | None = None, vary: Mapping[str, Any] | None = None) -> str:
    """Write the command that trains a recipe at full size.

    Args:
        data: in place of the source of its images.
        vary: what its runs differ in besides, as the sweep takes it.
    """
    verb = PLAN_VERBS[SweepConfig.kind]
    words = [verb] if recipe.kind == FIRST else [verb, recipe.of.verb]
    flags = {name: spec.rule.flag or spec.name.replace("_", "-") for name, spec in flat(recipe.of.config)}
    for name, value in recipe.values(data).items():
        words += [f"--{flags[name]}", *_words(value)]
    words += ["--seeds", *map(str, SEEDS)]
    if vary:
        words += ["--vary", _parameters({name: list(values) for name, values in vary.items()})]
    return f"{PROGRAM} {shlex.join(words)}"


def written(arms: Sequence[Any]) -> tuple[str, ...]:
    """Write arms as the flag that lists them takes them."""
    return tuple(_words(tuple(arms)))


def _words(value: Any) -> Iterator[str]:
    """Yield the words after a flag."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _words(item)
    elif isinstance(value, Choice):
        yield ":".join(filter(None, (value.name, _parameters(value.parameters))))
    elif isinstance(value, Mapping):
        yield _parameters({name: _quoted(inner) for name, inner in value.items()}) or "-"
    else:
        yield _value(value).removesuffix(".0" if isinstance(value, float) else "")


def _parameters(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={_value(value)}" for name, value in values.items())


def _quoted(value: Any) -> Any:
    """Put quotes around a text that would be read as something else, as ``none`` would."""
    if not isinstance(value, str):
        return value
    return value if parse_choice(f":one={value}")[1]["one"] == value else json.dumps(value)


def _value(value: Any) -> str:
    """Write one value; a float stays one."""
    if isinstance(value, (tuple, list)):
        return ";".join(map(_value, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)
