"""What a sweep varies: settings of its runs and parameters of its losses, each with the values to try."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainers.errors import ParameterError
from trainers.kinds.arm_view import chosen_arms
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.sweep.config import MOST_RUNS
from trainers.losses import LOSSES
from trainers.parameters import Choice, Spec, check, specs
from trainers.plans.planned import Variant

_FIXED = ("losses", "seed", "device", "threads", "start", "metrics")
"""Settings that are not varied: they have a place of their own, belong to the machine, or change no training."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One thing that is varied.

    Attributes:
        name: as it was given.
        title: as listed.
        values: to try, each once, in order.
        path: of a setting: field names from the configuration down; empty: it is a parameter of losses.
        parameter: its name; ``losses``: names of the losses that it is varied in.
    """

    name: str
    title: str
    values: tuple[Any, ...]
    path: tuple[str, ...] = ()
    parameter: str = ""
    losses: frozenset[str] = frozenset()


def axes(vary: Mapping[str, Any], losses: Sequence[Choice]) -> list[Axis]:
    """Read what is to be varied.

    Args:
        vary: by name a value or a list of them. A name is that of a setting (``dim``, ``max_images``), of a parameter
            of one loss (``happier.alpha``), or of a parameter of every chosen loss that has it (``temperature``).
        losses: those that are compared.

    Raises:
        ParameterError: a name is unknown, a value not accepted, or the same thing is varied twice.
    """
    found: list[Axis] = []
    for name, value in vary.items():
        axis = _axis(name, value, losses)
        same = [one.name for one in found if _is_same(one, axis)]
        if same:
            raise ParameterError(f"Each setting is varied once; {same[0]!r:.60} and {name!r:.60} are the same one.")
        found.append(axis)
    return found


def counts(varied: Sequence[Axis], losses: Sequence[Choice]) -> tuple[int, int]:
    """How many conditions and how many variants there are, without making them."""
    settings = math.prod(len(axis.values) for axis in varied if axis.path)
    parameters = [axis for axis in varied if not axis.path]
    return settings, sum(_count(loss, parameters) for loss in losses)


def offered(losses: Sequence[Choice]) -> dict[str, str]:
    """What can be varied by name, with a title: parameters of the losses first, then settings.

    Left out is what is written as free text. A loss that this program does not know is passed over.
    """
    known = dict.fromkeys(loss.name for loss in losses if loss.name in LOSSES)
    own = {
        f"{loss}.{spec.name}": f"{LOSSES[loss].title}: {spec.name.replace('_', ' ')}"
        for loss in known
        for spec in specs(LOSSES[loss].parameters)
        if _is_plain(spec)
    }
    return own | {spec.name: spec.label for _, spec in _settings() if _is_plain(spec)}


def conditions(config: MetricLearningConfig, settings: Sequence[Axis]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Every combination of values of the settings: values by axis title, and the configuration with them."""
    for values in itertools.product(*(axis.values for axis in settings)):
        changed = config
        for axis, value in zip(settings, values, strict=True):
            changed = _replaced(changed, axis.path, value)
        yield {axis.title: value for axis, value in zip(settings, values, strict=True)}, changed


def variants(losses: Sequence[Choice], parameters: Sequence[Axis]) -> list[tuple[Choice, Variant]]:
    """Every loss with every combination of values of the parameters that are varied in it."""
    chosen = [
        Choice(name=loss.name, parameters={**loss.parameters, **dict(zip(names, values, strict=True))})
        for loss in losses
        for own in [[axis for axis in parameters if loss.name in axis.losses]]
        for names in [[axis.parameter for axis in own]]
        for values in itertools.product(*(axis.values for axis in own))
    ]
    bases = chosen_arms(losses, LOSSES)
    views = chosen_arms(chosen, LOSSES)
    origin = [place for place, loss in enumerate(losses) for _ in range(_count(loss, parameters))]
    return [
        (
            choice,
            Variant(title=view.title, family=bases[place].title, parameters=dict(choice.parameters), color=place),
        )
        for choice, view, place in zip(chosen, views, origin, strict=True)
    ]


def _count(loss: Choice, parameters: Sequence[Axis]) -> int:
    return math.prod(len(axis.values) for axis in parameters if loss.name in axis.losses)


def _is_same(one: Axis, other: Axis) -> bool:
    if one.path or other.path:
        return one.path == other.path
    return one.parameter == other.parameter and bool(one.losses & other.losses)


def _axis(name: str, value: Any, losses: Sequence[Choice]) -> Axis:
    given = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    loss, _, parameter = name.rpartition(".")
    setting = None if loss in LOSSES else _setting(name.rpartition(".")[2])
    if setting is not None:
        path, spec = setting
        values = _checked(spec, given, name)
        return Axis(name=name, title=spec.label, values=values, path=path)
    wanted = [choice.name for choice in losses if loss in ("", choice.name)]
    known = {one: _parameter(one, parameter) for one in wanted}
    having = {one: spec for one, spec in known.items() if spec is not None}
    if not having:
        raise ParameterError(_unknown(name, losses))
    for one, spec in having.items():
        values = _checked(spec, given, f"{one}.{parameter}")
    return Axis(name=name, title=name, values=values, parameter=parameter, losses=frozenset(having))


def _settings(config: type = MetricLearningConfig) -> Iterator[tuple[tuple[str, ...], Spec]]:
    """The settings that can be varied, with their paths; those of nested dataclasses in their place."""
    for spec in specs(config):
        if spec.nested:
            yield from (((spec.name, *path), inner) for path, inner in _settings(spec.type))
        elif spec.name not in _FIXED:
            yield (spec.name,), spec


def _setting(name: str) -> tuple[tuple[str, ...], Spec] | None:
    """The path and spec of a setting by its name or flag; of several the least nested one, of those the first."""
    named = [found for found in _settings() if name and name in (found[1].name, found[1].rule.flag)]
    return min(named, key=lambda found: len(found[0]), default=None)


def _is_plain(spec: Spec) -> bool:
    """Whether its values are numbers, or words to choose from."""
    words = spec.type is str and (spec.rule.choices is not None or spec.rule.registry)
    return spec.type in (int, float, bool) or bool(words)


def _parameter(loss: str, name: str) -> Spec | None:
    return next((spec for spec in specs(LOSSES[loss].parameters) if spec.name == name), None)


def _checked(spec: Spec, values: Sequence[Any], owner: str) -> tuple[Any, ...]:
    if len(values) > MOST_RUNS:
        raise ParameterError(f"Vary {owner} takes at most {MOST_RUNS} values; got {len(values):,}.")
    checked = tuple(check(spec, value, f"Vary {owner}") for value in values)
    repeated = [value for place, value in enumerate(checked) if value in checked[:place]]
    if repeated:
        raise ParameterError(f"Vary {owner} needs each value once; got {repeated[0]!r:.60} twice.")
    if not checked:
        raise ParameterError(f"Vary {owner} needs a value; got none.")
    return checked


def _unknown(name: str, losses: Sequence[Choice]) -> str:
    settings = [spec.name for path, spec in _settings() if len(path) == 1]
    own = [f"{loss.name}.{spec.name}" for loss in losses for spec in specs(LOSSES[loss.name].parameters)]
    return (
        f"A sweep varies settings and parameters of its losses; there is no {name!r:.60}. "
        f"Settings: {', '.join(settings)}. Parameters: {', '.join(own) or 'none'}."
    )


def _replaced(config: Any, path: Sequence[str], value: Any) -> Any:
    name, *rest = path
    return dataclasses.replace(config, **{name: _replaced(getattr(config, name), rest, value) if rest else value})
