"""Configurations of runs and plans from plain values, as programs give them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from trainers.config import Config, RunConfig
from trainers.errors import ParameterError
from trainers.kinds import KINDS, check
from trainers.kinds.base import Kind
from trainers.parameters import Spec, entry, specs
from trainers.plans import PLANS, Plan
from trainers.plans.config import apart
from trainers.values import check_types, readable, values_of


def configured(name: str, settings: Mapping[str, Any], without: Collection[str] = ()) -> Config:
    """Make a checked configuration of plain values.

    Args:
        name: of a kind of run, or of a plan.
        settings: those that differ from their defaults, as a run's ``config.json`` spells them. The settings of a plan
            stand beside those of its runs, or with those in ``run``.
        without: settings that may not be given.

    Raises:
        UserError: there is no such kind, or a setting is unknown or wrong.
    """
    started = entry({**KINDS, **PLANS}, name, "kind of run")
    with readable(started.title):
        planned = isinstance(started, Plan)
        config = _planned(started, settings, without) if planned else _single(started, settings, without)
        check_types(config)
    check(config)
    return config


def offered(kind: Kind[Any], without: Collection[str] = ()) -> list[Spec]:
    """Return the settings of a kind that may be given."""
    return [spec for spec in specs(kind.config) if spec.name not in without]


def _single(kind: Kind[Any], settings: Mapping[str, Any], without: Collection[str]) -> RunConfig:
    known = [spec.name for spec in offered(kind, without)]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ParameterError(f"{kind.title} has no setting {unknown[0]!r:.60}; it has {', '.join(known)}.")
    config: RunConfig = kind.configured(values_of(kind.config, settings))
    return config


def _planned(plan: Plan[Any], settings: Mapping[str, Any], without: Collection[str]) -> Config:
    of_plan, name, run = apart(plan.config, settings)
    if "run" in run:
        run = {**run.pop("run"), **run}
        name = run.pop("kind", name)
    kind = entry(KINDS, name, "kind of run")
    config: Config = plan.config(run=_single(kind, run, without), **values_of(plan.config, of_plan))
    return config
