"""The settings to try next, as a function of the results before."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from trainers.plans.space import Dimension, Point

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

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
