"""The descriptor of a recipe: the settings of a paper's training, where each comes from, and what the paper printed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainers.kinds import KINDS
from trainers.kinds.base import Kind
from trainers.parameters import Choice, flat, parse_choice
from trainers.plans.config import SweepConfig

SEEDS = (0, 1, 2)
"""Of every recipe: the papers print one number a row, and one seed decides nothing here."""
_PLACEHOLDER = "path/to/"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The value of a setting and where it comes from, as words that end no sentence."""

    value: Any
    source: str


def stated(value: Any, where: str) -> Setting:
    """Return what the paper states, ``where`` being its section or table."""
    return Setting(value=value, source=where)


def published(value: Any, code: str) -> Setting:
    """Return what the code does that was published with the paper."""
    return Setting(value=value, source=f"published code ({code})")


def ours(value: Any, why: str = "our text of the paper has none") -> Setting:
    """Return what is ours, and why."""
    return Setting(value=value, source=f"ours: {why}")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The images of a recipe.

    Attributes:
        source: a dataset of the catalogue, a Hub id, or ``path/to/NAME`` for a folder that the user has.
        layout: what the source holds, or what the folder must, as a sentence.
        levels: of the label tree; 0: captions in place of labels.
    """

    title: str
    source: str
    layout: str
    levels: int

    @property
    def at_hand(self) -> bool:
        """Whether the source can be read by name."""
        return not self.source.startswith(_PLACEHOLDER)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number that the paper printed.

    Attributes:
        arm: the arm of the recipe that it is of, as written there.
        metric: key of the number, as :func:`trainers.metrics.names.describe` reads it.
        value: in per cent.
        where: table, and where it has several sets of columns which.
        row: its name there.
    """

    arm: str
    metric: str
    value: float
    where: str
    row: str


def table(where: str, keys: tuple[str, ...], rows: Mapping[str, tuple[Any, ...]]) -> tuple[Figure, ...]:
    """Return the numbers of several rows: by arm the name of the row there, then a number per key."""
    return tuple(
        Figure(arm=arm, metric=key, value=value, where=where, row=row)
        for arm, (row, *values) in rows.items()
        for key, value in zip(keys, values, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training that a paper describes.

    Attributes:
        name: of its file.
        paper: as cited.
        kind: of its runs.
        settings: by name, those of nested settings as ``data.max_images``; the images are in ``dataset``. What is not
            among them has the program's default.
        arms: what is compared, as on the command line, and their source.
        figures: none where our text of the paper has none.
        differs: sentences on what today's settings do not express, and on what else is not the paper's.
        order: place in lists, smaller first.
    """

    name: str
    title: str
    paper: str
    sentence: str
    dataset: Dataset
    kind: str
    settings: Mapping[str, Setting]
    arms: Setting
    figures: tuple[Figure, ...] = ()
    differs: tuple[str, ...] = ()
    order: int = 100

    @property
    def of(self) -> Kind[Any]:
        """The kind of its runs."""
        return KINDS[self.kind]

    @property
    def arms_setting(self) -> str:
        """The name of the setting that lists its arms."""
        return self.of.compares

    def values(self, data: str | None = None) -> dict[str, Any]:
        """Return every setting that it gives by its whole name, in the order of the flags.

        Args:
            data: in place of the source of the dataset.
        """
        source = "scenes.source" if not self.dataset.levels else "data.source"
        given = {source: data or self.dataset.source} | {name: setting.value for name, setting in self.settings.items()}
        given[self.arms_setting] = self._arms()
        known = [name for name, _ in flat(self.of.config)]
        return {name: given[name] for name in sorted(given, key=known.index)}

    def config(self, data: str | None = None, vary: Mapping[str, Any] | None = None) -> SweepConfig:
        """Make the sweep at full size."""
        return SweepConfig(run=configured(self.of, self.values(data)), seeds=SEEDS, vary=dict(vary or {}))

    def changed(self, arms: Sequence[str] = (), **settings: Any) -> Recipe:
        """Return the same with other arms or settings, which have no figures."""
        given = {name.replace("__", "."): ours(value, "of this comparison") for name, value in settings.items()}
        return dataclasses.replace(
            self,
            settings={**self.settings, **given},
            arms=ours(tuple(arms), "of this comparison") if arms else self.arms,
            figures=(),
        )

    def _arms(self) -> tuple[Any, ...]:
        """Return the arms as the setting holds them."""
        spec = dict(flat(self.of.config))[self.arms_setting]
        if spec.item is Choice:
            entries = spec.rule.entries()
            named = (parse_choice(written, entries) for written in self.arms.value)
            return tuple(Choice(name=name, parameters=given) for name, given in named)
        return tuple(parse_choice(f":{'' if written == '-' else written}")[1] for written in self.arms.value)


def configured(kind: Kind[Any], values: Mapping[str, Any]) -> Any:
    """Make the configuration of a run from settings by their whole names."""
    default = kind.config()
    given: dict[str, Any] = {name: value for name, value in values.items() if "." not in name}
    nested = {name.partition(".")[0] for name in values if "." in name}
    for outer in nested:
        inner = {name.partition(".")[2]: value for name, value in values.items() if name.startswith(f"{outer}.")}
        given[outer] = dataclasses.replace(getattr(default, outer), **inner)
    return kind.configured(given)
