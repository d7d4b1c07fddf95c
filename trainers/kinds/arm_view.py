"""The arms of a run, as they are listed, and the one parameter in which they differ, as the axis of a plot."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from trainers.parameters import Choice, Spec, specs
from trainers.registry import NoParameters, title_of
from trainers.values import is_number


@dataclass(frozen=True, kw_only=True)
class ArmView:
    """One arm as it is listed.

    Attributes:
        title: unique among the arms of its run.
        name: of the loss or recipe.
        label: the title of the loss or recipe itself.
        parameters: those that differ from their defaults.
        unset: what counts for a parameter that is None, where the run's settings say it.
        family: arms of the same one differ in parameters alone; empty: it is not known.
        schema: the dataclass of all its parameters, see :mod:`trainers.parameters`.
        paper: where the loss or method comes from; empty: it is not known, or a recipe.
    """

    title: str
    name: str
    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unset: Mapping[str, Any] = field(default_factory=dict)
    family: str = ""
    schema: type = NoParameters
    paper: str = ""


def numbered(titles: Sequence[str]) -> list[str]:
    """Add numbers to repeated titles."""
    often, seen = Counter(titles), Counter[str]()
    unique = []
    for title in titles:
        seen[title] += 1
        unique.append(f"{title} #{seen[title]}" if often[title] > 1 else title)
    return unique


def chosen_arms(
    choices: Sequence[Choice], entries: Mapping[str, Any], unset: Mapping[str, Any] = MappingProxyType({})
) -> list[ArmView]:
    """List an arm per entry of a registry; the same entry twice is told apart by its parameters, or by number.

    Listed are the parameters in which they differ, defaults among them. An entry that this program does not know is
    called by its bare name.
    """
    labels = [title_of(entries, choice.name) for choice in choices]
    often = Counter(labels)
    settings = [_settings(choice, entries, unset) for choice in choices]
    alike = [[other for other, also in zip(settings, labels, strict=True) if also == label] for label in labels]
    listed = list(map(_listed, settings, alike))
    titles = [
        f"{label} ({parameters})" if often[label] > 1 and parameters else label
        for label, parameters in zip(labels, listed, strict=True)
    ]
    return [
        ArmView(
            title=title,
            name=choice.name,
            label=label,
            parameters=dict(choice.parameters),
            unset=unset,
            family=choice.name,
            schema=entries[choice.name].parameters if choice.name in entries else NoParameters,
            paper=_paper(entries.get(choice.name)),
        )
        for title, label, choice in zip(numbered(titles), labels, choices, strict=True)
    ]


def _paper(entry: Any) -> str:
    """Return the paper of an entry, with its year where the entry keeps that apart."""
    return " ".join(str(part) for part in (getattr(entry, "paper", ""), getattr(entry, "year", "")) if part)


def _settings(choice: Choice, entries: Mapping[str, Any], unset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters of a choice, by name."""
    known = specs(entries[choice.name].parameters) if choice.name in entries else ()
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in choice.parameters.items()}
    all_of_them = {spec.name: spec.default for spec in known} | given
    return {name: unset.get(name) if value is None else value for name, value in all_of_them.items()}


def _listed(parameters: Mapping[str, Any], alike: Sequence[Mapping[str, Any]]) -> str:
    """Write the parameters that are not the same in all of ``alike``."""
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {'none' if value is None else value}"
        for name, value in sorted(parameters.items())
        if any((name, value) not in other.items() for other in alike)
    )


CLOSEST = 0.12
"""Of the axis: values that lie closer than this, where their marks would overlap, are spaced evenly instead."""
LINEAR, LOG, EVEN = "linear", "log", "even"


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """The one parameter in which the arms differ.

    Attributes:
        title: of the parameter.
        help: what it does, one sentence.
        values: as written, one per arm.
        places: of the arms on the axis, 0 to 1.
        scale: of the axis: ``linear``, ``log``, or ``even``, in order but not to scale.
    """

    title: str
    help: str
    values: tuple[str, ...]
    places: tuple[float, ...]
    scale: str


def ablation(arms: Sequence[ArmView]) -> Ablation | None:
    """Return the plot's axis; None where the arms do not differ in exactly one parameter."""
    first = arms[0]
    if not first.family or any((arm.family, arm.schema) != (first.family, first.schema) for arm in arms):
        return None
    known = {spec.name: [_value(arm, spec) for arm in arms] for spec in specs(first.schema)}
    varied = [spec for spec in specs(first.schema) if any(value != known[spec.name][0] for value in known[spec.name])]
    return _axis(varied[0], known[varied[0].name]) if len(varied) == 1 else None


def _value(arm: ArmView, spec: Spec) -> Any:
    value = arm.parameters.get(spec.name, spec.default)
    return arm.unset.get(spec.name) if value is None else value


def _axis(spec: Spec, values: list[Any]) -> Ablation:
    scale, numbers = EVEN, []
    if all(is_number(value) for value in values):
        scale = LOG if spec.rule.log and min(values) > 0 else LINEAR
        numbers = [math.log(value) if scale == LOG else float(value) for value in values]
        marks = sorted(set(numbers))
        closest = min(after - before for before, after in itertools.pairwise(marks))
        scale = EVEN if closest < CLOSEST * (marks[-1] - marks[0]) else scale
    if scale == EVEN:
        listed = sorted(values) if numbers else values
        different = [value for index, value in enumerate(listed) if value not in listed[:index]]
        numbers = [float(different.index(value)) for value in values]
    low, high = min(numbers), max(numbers)
    return Ablation(
        title=spec.label,
        help=spec.rule.help,
        values=tuple(map(written, values)),
        places=tuple((number - low) / (high - low) for number in numbers),
        scale=scale,
    )


def written(value: Any) -> str:
    """Write a value as a reader writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(written, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
