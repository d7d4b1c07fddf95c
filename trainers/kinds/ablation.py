"""The one parameter in which the arms of a run differ, as the axis of a plot."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainers.kinds.arm_view import ArmView
from trainers.parameters import Spec, specs
from trainers.values import is_number

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
