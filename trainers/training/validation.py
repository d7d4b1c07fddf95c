"""Checks the settings of a run before anything is loaded."""

from __future__ import annotations

from trainers.config import BUDGET, RunConfig
from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.parameters import check_all


def check(config: RunConfig) -> None:
    """Check names, ranges and the budget, then what the run's kind requires.

    Raises:
        ParameterError: the first thing that is wrong, with what is accepted and what it got.
        DataError: a source that may not be opened here.
    """
    if all(getattr(config, name) is None for name in BUDGET):
        raise ParameterError("A run needs a budget: steps, minutes or epochs; got none.")
    check_all(config, "A run")
    kind_of(config).check(config)


def check_source(source: str) -> None:
    """Refuse a source that may not be opened here, before the run is queued.

    Raises:
        DataError: it may not be opened.
    """
    from trainers.data import SOURCES, access
    from trainers.data.captioned.loader import named
    from trainers.data.sources import resolve

    if access.restricted() and source not in SOURCES and named(source) is None:
        resolve(source)
