"""The axes of a sweep: settings of its runs and parameters of their arms, each with the values to try."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainers.config import RunConfig
from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.kinds.arm_view import ArmView
from trainers.parameters import Spec, check, specs
from trainers.plans.config import MOST_RUNS
from trainers.plans.planned import Variant

_FIXED = ("seed", "device", "threads", "processes", "start", "weights", "metrics")
"""Settings that are not varied: they have a place of their own, belong to the machine, or change no training."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A setting or parameter that is varied.

    Attributes:
        name: as it was given.
        title: as listed.
        values: to try, each once, in order.
        path: of a setting: field names from the configuration down; empty: it is a parameter of arms.
        parameter: its name; ``families``: those of the arms that it is varied in.
    """

    name: str
    title: str
    values: tuple[Any, ...]
    path: tuple[str, ...] = ()
    parameter: str = ""
    families: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """The title within a sentence; names of losses keep their capitals."""
        return self.title.lower() if self.path else self.title


def axes(vary: Mapping[str, Any], run: RunConfig) -> list[Axis]:
    """Read what is to be varied.

    Args:
        vary: by name a value or a list of them. A name is that of a setting (``dim``, ``max_images``), of a parameter
            of one family of arms (``happier.alpha``, ``moco_v2.momentum``), or of a parameter of every arm that has it
            (``temperature``).
        run: the settings of each run, with the arms that are compared.

    Raises:
        ParameterError: a name is unknown, a value not accepted, or the same thing is varied twice.
    """
    varied: list[Axis] = []
    for name, value in vary.items():
        axis = _axis(name, value, run)
        same = [known.name for known in varied if _is_same(known, axis)]
        if same:
            raise ParameterError(f"Each setting is varied once; {same[0]!r:.60} and {name!r:.60} are the same one.")
        varied.append(axis)
    return varied


def counts(varied: Sequence[Axis], run: RunConfig) -> tuple[int, int]:
    """Count the conditions and the variants, without making them."""
    settings = math.prod(len(axis.values) for axis in varied if axis.path)
    return settings, sum(_count(view, varied) for view in kind_of(run).arms(run))


def offered(run: RunConfig) -> dict[str, str]:
    """Return what can be varied by name, with a title: parameters of the arms first, then settings.

    Left out is what is written as free text. An arm that this program does not know is passed over.
    """
    of_arms = {
        f"{family}.{spec.name}": f"{title}: {spec.name.replace('_', ' ')}"
        for family, (title, known) in _families(run).items()
        for spec in known
        if _is_plain(spec)
    }
    return of_arms | {spec.name: spec.label for _, spec in _settings(run) if _is_plain(spec)}


def conditions(run: RunConfig, settings: Sequence[Axis]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield every combination of values of the settings: values by axis title, and the configuration with them."""
    for values in itertools.product(*(axis.values for axis in settings)):
        changed = run
        for axis, value in zip(settings, values, strict=True):
            changed = _replaced(changed, axis.path, value)
        yield {axis.title: value for axis, value in zip(settings, values, strict=True)}, changed


def variants(run: RunConfig, varied: Sequence[Axis]) -> tuple[list[Any], list[Variant]]:
    """Make every arm with every combination of values of the parameters that are varied in it.

    Returns:
        The arms as settings, see :meth:`trainers.kinds.base.Kind.listed`, and what each stands for.
    """
    kind = kind_of(run)
    bases, chosen, origin = kind.arms(run), [], []
    for index, arm in enumerate(kind.listed(run)):
        varied_here = [axis for axis in varied if bases[index].family in axis.families]
        for values in itertools.product(*(axis.values for axis in varied_here)):
            given = dict(zip([axis.parameter for axis in varied_here], values, strict=True))
            chosen.append(kind.with_parameters(arm, given))
            origin.append(index)
    views = kind.arms(kind.with_arms(run, chosen)) if chosen else bases
    return chosen, [
        Variant(title=view.title, family=bases[index].title, parameters=dict(view.parameters), color=index)
        for view, index in zip(views, origin or range(len(bases)), strict=True)
    ]


def _count(view: ArmView, varied: Sequence[Axis]) -> int:
    return math.prod(len(axis.values) for axis in varied if view.family in axis.families)


def _is_same(axis: Axis, other: Axis) -> bool:
    if axis.path or other.path:
        return axis.path == other.path
    return axis.parameter == other.parameter and bool(axis.families & other.families)


def _axis(name: str, value: Any, run: RunConfig) -> Axis:
    given = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    owner, _, parameter = name.rpartition(".")
    families = _families(run)
    setting = None if owner in {*families, *kind_of(run).families} else _setting(name.rpartition(".")[2], run)
    if setting is not None:
        path, spec = setting
        return Axis(name=name, title=spec.label, values=_checked(spec, given, name), path=path)
    having = {
        family: spec
        for family, (_, known) in families.items()
        for spec in known
        if owner in ("", family) and spec.name == parameter
    }
    if not having:
        raise ParameterError(_unknown(name, run))
    for family, spec in having.items():
        values = _checked(spec, given, f"{family}.{parameter}")
    title = parameter.replace("_", " ")
    if owner and len(families) > 1:
        title = f"{title} of {families[owner][0]}"
    return Axis(name=name, title=title, values=values, parameter=parameter, families=frozenset(having))


def _families(run: RunConfig) -> dict[str, tuple[str, tuple[Spec, ...]]]:
    """Return for every family of the arms its title and the parameters in which its arms may differ."""
    kind = kind_of(run)
    if not kind.listed(run):
        return {}
    return {
        view.family: (view.label if view.name == view.family else view.family.capitalize(), specs(view.schema))
        for view in kind.arms(run)
        if view.family
    }


def _settings(config: Any) -> Iterator[tuple[tuple[str, ...], Spec]]:
    """Yield the settings that can be varied, with their paths; those of nested dataclasses in their place."""
    fixed = _FIXED if not isinstance(config, RunConfig) else (*_FIXED, kind_of(config).compares)
    for spec in specs(type(config)):
        if spec.nested:
            yield from (((spec.name, *path), inner) for path, inner in _settings(getattr(config, spec.name)))
        elif spec.name not in fixed:
            yield (spec.name,), spec


def _setting(name: str, run: RunConfig) -> tuple[tuple[str, ...], Spec] | None:
    """Find the path and spec of a setting by its name or flag; of several the least nested one, of those the first."""
    named = [pair for pair in _settings(run) if name and name in (pair[1].name, pair[1].rule.flag)]
    return min(named, key=lambda pair: len(pair[0]), default=None)


def _is_plain(spec: Spec) -> bool:
    """Return whether its values are numbers, or words to choose from."""
    words = spec.type is str and (spec.rule.choices is not None or spec.rule.registry)
    return spec.type in (int, float, bool) or bool(words)


def _checked(spec: Spec, values: Sequence[Any], owner: str) -> tuple[Any, ...]:
    if len(values) > MOST_RUNS:
        raise ParameterError(f"Vary {owner} takes at most {MOST_RUNS} values; got {len(values):,}.")
    checked = tuple(check(spec, value, f"Vary {owner}") for value in values)
    repeated = [value for index, value in enumerate(checked) if value in checked[:index]]
    if repeated:
        raise ParameterError(f"Vary {owner} needs each value once; got {repeated[0]!r:.60} twice.")
    if not checked:
        raise ParameterError(f"Vary {owner} needs a value; got none.")
    return checked


def _unknown(name: str, run: RunConfig) -> str:
    settings = [spec.name for path, spec in _settings(run) if len(path) == 1]
    parameters = [f"{family}.{spec.name}" for family, (_, known) in _families(run).items() for spec in known]
    return (
        f"A sweep varies settings and parameters of its {kind_of(run).compares}; there is no {name!r:.60}. "
        f"Settings: {', '.join(settings)}. Parameters: {', '.join(parameters) or 'none'}."
    )


def _replaced(config: Any, path: Sequence[str], value: Any) -> Any:
    name, *rest = path
    return dataclasses.replace(config, **{name: _replaced(getattr(config, name), rest, value) if rest else value})
