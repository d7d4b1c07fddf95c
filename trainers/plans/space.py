"""The space that is searched for an arm, and the settings to try next in it, as a function of the results before."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trainers.config import RunConfig
from trainers.parameters import Spec, specs

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


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


_DIGITS = 3
"""Of a number that is tried: it can be read, and a last digit that differs between machines makes no other trial."""

Past = tuple[tuple[Point, float | None], ...]
"""Points with their scores, the order they were tried in; None: the training failed, which counts as worst."""


def starts(trials: int) -> int:
    """Count the trials of a search that are chosen without looking at results: the first one and random ones."""
    return min(10, max(1, trials // 2))


@functools.lru_cache(maxsize=8192)
def proposed(dimensions: tuple[Dimension, ...], past: Past, *, number: int, seed: int, maximise: bool) -> Point:
    """Propose the point of trial ``number``: by Optuna's tree-structured Parzen estimator, at random if nothing is
    past.

    The study is built anew from ``past`` with a random state of its own for each trial, so that the same arguments give
    the same point in any process. Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011; with the
    dependence between parameters of Falkner et al., BOHB, ICML 2018.
    """
    import optuna

    (state,) = np.random.SeedSequence([seed, number]).generate_state(1)
    sampler = (
        optuna.samplers.TPESampler(seed=int(state), multivariate=True, n_startup_trials=1)
        if past
        else optuna.samplers.RandomSampler(seed=int(state))
    )
    spread = {dimension.name: _distribution(dimension) for dimension in dimensions}
    shown = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # a line per study otherwise
    try:
        study = optuna.create_study(sampler=sampler, direction="maximize" if maximise else "minimize")
        for point, score in past:
            study.add_trial(_trial(dimensions, spread, point, score))
        asked = study.ask(spread).params
    finally:
        optuna.logging.set_verbosity(shown)
    return tuple(_rounded(dimension, asked[dimension.name]) for dimension in dimensions)


def _distribution(dimension: Dimension) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if dimension.choices:
        return CategoricalDistribution(dimension.choices)
    if dimension.whole:
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _trial(
    dimensions: tuple[Dimension, ...], spread: dict[str, BaseDistribution], point: Point, score: float | None
) -> Any:
    """Make a finished trial; one that failed is given as pruned, which the estimator ranks below every score."""
    from optuna.trial import TrialState, create_trial

    values = {dimension.name: value for dimension, value in zip(dimensions, point, strict=True)}
    state = TrialState.PRUNED if score is None else TrialState.COMPLETE
    return create_trial(params=values, distributions=spread, value=score, state=state)


def _rounded(dimension: Dimension, value: Any) -> Any:
    if dimension.choices or dimension.whole:
        return value
    return min(dimension.high, max(dimension.low, float(f"{value:.{_DIGITS}g}")))
