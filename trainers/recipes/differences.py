"""The settings of a run that differ from those of a recipe, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from trainers.config import RunConfig
from trainers.parameters import Choice, Spec, flat
from trainers.plans.config import SweepConfig
from trainers.recipes.base import Recipe
from trainers.recipes.command import written

_NO_MATTER = ("seed", "snapshot_steps", "channels_last", "checkpointing", "compiled", "device", "threads", "processes")
"""Settings that change a number by rounding at most; a plan has seeds of its own."""


def differences(wanted: RunConfig, run: RunConfig) -> Iterator[str]:
    """Yield ``NAME: WANTED → OWN`` for every setting that differs, of several entries for each that does.

    Args:
        wanted, run: of one kind.
    """
    for name, spec in flat(type(run)):
        before, after = map(attrgetter(name), (wanted, run))
        if name in _NO_MATTER or _effective(spec, before) == _effective(spec, after):
            continue
        if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
            pairs = [
                (wanted_entry, run_entry)
                for wanted_entry, run_entry in zip(before, after, strict=True)
                if _one(spec, wanted_entry) != _one(spec, run_entry)
            ]
            before, after = zip(*pairs, strict=True)
        yield f"{name}: {in_words(before)} → {in_words(after)}"


def of_run(recipe: Recipe, config: SweepConfig) -> list[str]:
    """List what a run has otherwise than the recipe at full size; of images that the user has, which they are.

    Args:
        config: of a plan of runs of the recipe's kind, with as many arms.
    """
    source = (getattr(config.run, "data", None) or getattr(config.run, "scenes")).source  # noqa: B009 - of either kind
    wanted = recipe.config(None if recipe.dataset.at_hand else source)
    said = [] if recipe.dataset.at_hand else [f"images: {source}, not checked to be {recipe.dataset.title}"]
    said += differences(wanted.run, config.run)
    if wanted.seeds != config.seeds:
        said.append(f"seeds: {in_words(wanted.seeds)} → {in_words(config.seeds)}")
    if wanted.kind != config.kind:
        said.append(f"plan: {wanted.kind} → {config.kind}".replace("_", " "))
    return said


def in_words(value: Any) -> str:
    """Write the value of a setting as the command line does."""
    several: Sequence[Any] = value if isinstance(value, (tuple, list)) else (value,)
    return " ".join(written(several)) or "none"


def _effective(spec: Spec, value: Any) -> Any:
    return [_one(spec, entry) for entry in value] if isinstance(value, (tuple, list)) else _one(spec, value)


def _one(spec: Spec, value: Any) -> Any:
    """Return what a value stands for: parameters of an entry that are not given have their defaults."""
    if not isinstance(value, Choice):
        return value
    return value.name, spec.rule.entries()[value.name].checked(value.parameters)
