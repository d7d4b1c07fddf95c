"""Fair comparisons: they are started from the form of a single run, with the seeds and the values of a sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.controls import control, raw, read
from explorer.page.kinds.base import FormContext, KindPage, PlanForm
from explorer.page.kinds.metric_learning import KIND as SINGLE
from explorer.page.kinds.metric_learning import LOSS_PICKER
from explorer.page.kinds.sweep import VARIED
from explorer.page.parameter_panel import fold
from explorer.page.remembered import settings
from trainers.config import BUDGET, Conditions, RunConfig, converted
from trainers.kinds import check
from trainers.kinds.fair_comparison import DESCRIPTOR as KIND
from trainers.kinds.fair_comparison.config import FOLDS, FairComparisonConfig
from trainers.parameters import specs

_FIRST = FairComparisonConfig()
_TRIALS, _FOLDS = "trials", "search_folds"
_SPECS = {spec.name: spec for spec in specs(FairComparisonConfig)}
_MOST_FOLDS = 10


def build(_fields: Mapping[str, Component], _context: FormContext) -> dict[str, Component]:
    """Build the fold; seeds, and what is varied, are those of the fold above it.

    The other settings of the search are for the command line and the API: each field is a kilobyte of the page.
    """
    first = held(_FIRST)
    with fold("Fair comparison"):
        trials = control(_SPECS[_TRIALS], first[_TRIALS])
        told = "Of the training classes; each trial is trained once on each."
        folds = gr.Slider(2, _MOST_FOLDS, first[_FOLDS], step=1, label="Folds", info=told, buttons=[], min_width=80)
        return {_TRIALS: trials, _FOLDS: folds}


def config(run: RunConfig, values: Mapping[str, Any]) -> FairComparisonConfig:
    """The fair comparison of the losses that the form describes.

    Raises:
        UserError: what is wrong.
    """
    made = converted(
        run,
        FairComparisonConfig,
        **VARIED.read(values),
        **read(FairComparisonConfig, {_TRIALS: values[_TRIALS]}, KIND.title),
    )
    conditions = dataclasses.replace(made.data.conditions, folds=int(values[_FOLDS]), fold=Conditions.fold)
    made = dataclasses.replace(made, data=dataclasses.replace(made.data, conditions=conditions))
    check(made)
    return made


def held(config: RunConfig) -> dict[str, Any]:
    """The values of the fields that show a configuration, by name."""
    trials = _SPECS[_TRIALS]
    return {_TRIALS: raw(trials, getattr(config, _TRIALS, trials.default)), _FOLDS: getattr(config, "folds", FOLDS)}


def restored(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they were left."""
    values = held(_FIRST) | settings(FairComparisonConfig, kept, only=[_TRIALS])
    folds = kept.get(_FOLDS)
    return values | ({_FOLDS: folds} if isinstance(folds, int) and 2 <= folds <= _MOST_FOLDS else {})


DESCRIPTOR = KindPage(
    name=KIND.name,
    plan=PlanForm(
        of=SINGLE.name,
        button="Compare fairly",
        build=build,
        config=config,
        held=held,
        restored=restored,
        counted=("seeds", *(name for axis in VARIED.axes for name in axis), *LOSS_PICKER.names, *BUDGET),
    ),
)
