"""The space that is searched for an arm: the learning rate, and its own parameters that are numbers or choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainers.config import RunConfig
from trainers.parameters import Spec, specs

SPAN = 10.0
"""A range on a logarithmic scale goes from the given value divided by this to the given value times this."""
RATE = "learning_rate"

Point = tuple[Any, ...]
"""A value for every dimension of a space, in order."""


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """A setting that is searched.

    Attributes:
        name: of the parameter.
        given: its value in the first trial.
        low, high: both inclusive; unused with ``choices``.
        log: values are spread over the logarithm.
        whole: values are whole numbers.
        choices: the values that are tried; empty: it is a number.
    """

    name: str
    given: Any
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def words(self) -> str:
        """Its name in words."""
        return in_words(self.name)

    @property
    def range(self) -> str:
        """The values in words, e.g. ``0.0004 to 0.04, logarithmic``."""
        if self.choices:
            return " or ".join(map(spelled, self.choices))
        return f"{self.low:g} to {self.high:g}{', logarithmic' if self.log else ''}"


@dataclass(frozen=True, kw_only=True)
class Space:
    """The space that is searched for one arm.

    Attributes:
        dimensions: the learning rate first, then parameters of the arm.
        fixed: parameters of the arm that were given, or are varied, and keep that value.
        left: further parameters of the arm that keep their defaults: those that may be empty, lists and texts, and
            those whose descriptor says that they are not searched.
    """

    dimensions: tuple[Dimension, ...]
    fixed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def first(self) -> Point:
        """The settings as they were given."""
        return tuple(dimension.given for dimension in self.dimensions)

    def values(self, point: Point) -> dict[str, Any]:
        """Return the values of a point by name."""
        return {dimension.name: value for dimension, value in zip(self.dimensions, point, strict=True)}

    def apart(self, point: Point) -> tuple[float, dict[str, Any]]:
        """Take a point apart: the learning rate, and the parameters of the arm that differ from the first point's."""
        rate, *others = zip(self.dimensions, point, strict=True)
        return rate[1], {dimension.name: value for dimension, value in others if value != dimension.given}


def in_words(name: str) -> str:
    """Write the name of a parameter as words."""
    return name.replace("_", " ")


def spelled(value: object) -> str:
    """Write a choice as the command line does."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def space_of(schema: type, given: Mapping[str, Any], learning_rate: float) -> Space:
    """Return the space of an arm.

    Ranges come from the declared parameters. A number that is positive, and whose range is declared logarithmic or
    reaches ten times its default or more, is searched from a tenth to ten times its default, on a logarithmic scale, as
    the learning rate is; other numbers over their whole range.

    Args:
        schema: the dataclass of the arm's parameters.
        given: those that were given, which are not searched.
        learning_rate: as it was given.
    """
    free = [spec for spec in specs(schema) if spec.name not in given]
    searched = [_dimension(spec, spec.default) for spec in free]
    return Space(
        dimensions=(_rate(learning_rate), *(dimension for dimension in searched if dimension is not None)),
        fixed=tuple(given),
        left=tuple(spec.name for spec, dimension in zip(free, searched, strict=True) if dimension is None),
    )


def rate_alone(given: Mapping[str, Any], learning_rate: float) -> Space:
    """Return the space of the learning rate alone.

    Args:
        given, learning_rate: see :func:`space_of`.
    """
    return Space(dimensions=(_rate(learning_rate),), fixed=tuple(given))


def _rate(learning_rate: float) -> Dimension:
    (rate,) = (spec for spec in specs(RunConfig) if spec.name == RATE)
    return _spread(rate, learning_rate)


def _dimension(spec: Spec, given: Any) -> Dimension | None:
    rule = spec.rule
    if not rule.searched or spec.optional or given is None:
        return None
    choices = (False, True) if spec.type is bool else rule.choices or ()
    if choices:
        return Dimension(name=spec.name, given=given, choices=choices) if len(choices) > 1 else None
    if spec.type not in (int, float) or rule.low is None or rule.high is None:
        return None
    if given > 0 and rule.low >= 0 and (rule.log or rule.high >= SPAN * given):
        return _spread(spec, given)
    if rule.above or rule.low == rule.high:
        return None
    return Dimension(name=spec.name, given=given, low=rule.low, high=rule.high, whole=spec.type is int)


def _spread(spec: Spec, given: float) -> Dimension:
    low, high = given / SPAN, given * SPAN
    low = low if spec.rule.low is None else max(spec.rule.low, low)
    high = high if spec.rule.high is None else min(spec.rule.high, high)
    whole = spec.type is int
    if whole:
        low, high = max(1, -int(-low // 1)), int(high)
    return Dimension(name=spec.name, given=given, low=low, high=high, log=True, whole=whole)
