"""The forms that start plans from the form of a kind of run: controls at the form's end, and a button."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.controls import control, raw, read
from explorer.page.kinds.base import FormContext, KindForm, Values
from explorer.page.parameter_panel import fold
from explorer.page.remembered import settings
from explorer.page.vary_form import VaryForm
from trainers.config import BUDGET, Conditions, Config, RunConfig
from trainers.kinds import check
from trainers.kinds.base import Kind
from trainers.parameters import specs
from trainers.plans import PLANS
from trainers.plans.config import FOLDS, FairComparisonConfig, SweepConfig, data_of

_SWEEP, _FAIR = SweepConfig.kind, FairComparisonConfig.kind
_TRIALS, _FOLDS = "trials", "search_folds"
_MOST_FOLDS = 10
_SPECS = {spec.name: spec for spec in specs(FairComparisonConfig)}


@dataclass(frozen=True, kw_only=True)
class PlanForm:
    """The form of a plan.

    Attributes:
        of: the kind of run whose form it is.
        button: words of the button.
        build: builds the controls, by name; called after the form is built, with its fields and its context.
        config: from the configuration of a single run and the values of all fields of the form to a checked
            configuration; raises a UserError.
        held: from the configuration of a run or a plan to the values of the controls that show it, in their order.
        restored: from what a browser kept to the values of the controls, checked one by one.
        counted: the fields of the form that decide how many runs there are and how long they take.
    """

    of: str
    button: str
    build: Callable[[Mapping[str, Component], FormContext], Mapping[str, Component]]
    config: Callable[[RunConfig, Mapping[str, Any]], Config]
    held: Callable[[Config], Values]
    restored: Callable[[Mapping[str, Any]], Values]
    counted: Sequence[str] = ()


def plan_forms(kind: Kind, form: KindForm) -> dict[str, PlanForm]:
    """Make the forms of the plans that suit a kind, by name; one may build on the fields of one before."""
    varied = VaryForm(kind=kind, follows=form.arms)
    made = {_SWEEP: _sweep(kind, form, varied), _FAIR: _fair(kind, form, varied)}
    return {name: one for name, one in made.items() if PLANS[name].suits(kind)}


def _sweep(kind: Kind, form: KindForm, varied: VaryForm) -> PlanForm:
    def build(fields: Mapping[str, Component], context: FormContext) -> dict[str, Component]:
        with fold("Over seeds"):
            return varied.build(fields, context.drawn)

    def config(run: RunConfig, values: Mapping[str, Any]) -> Config:
        made = SweepConfig(run=run, **varied.read(values))
        check(made)
        return made

    return PlanForm(
        of=kind.name,
        button="Train over seeds",
        build=build,
        config=config,
        held=varied.held,
        restored=varied.restored,
        counted=(*form.arms, *BUDGET),
    )


def _fair(kind: Kind, form: KindForm, varied: VaryForm) -> PlanForm:
    def config(run: RunConfig, values: Mapping[str, Any]) -> Config:
        conditions = dataclasses.replace(data_of(run).conditions, folds=int(values[_FOLDS]), fold=Conditions.fold)
        made = FairComparisonConfig(
            run=run.changed(data=dataclasses.replace(data_of(run), conditions=conditions)),
            **varied.read(values),
            **read(FairComparisonConfig, {_TRIALS: values[_TRIALS]}, PLANS[_FAIR].title),
        )
        check(made)
        return made

    return PlanForm(
        of=kind.name,
        button="Compare fairly",
        build=_build_search,
        config=config,
        held=_held_search,
        restored=_restored_search,
        counted=("seeds", *(name for axis in varied.axes for name in axis), *form.arms, *BUDGET),
    )


def _build_search(_fields: Mapping[str, Component], _context: FormContext) -> dict[str, Component]:
    """Build the fold; seeds, and what is varied, are those of the fold above it.

    The other settings of the search are for the command line and the API: each field is a kilobyte of the page.
    """
    first = _held_search(FairComparisonConfig())
    with fold(PLANS[_FAIR].title):
        trials = control(_SPECS[_TRIALS], first[_TRIALS])
        told = "Of the training classes; each trial is trained once on each."
        folds = gr.Slider(2, _MOST_FOLDS, first[_FOLDS], step=1, label="Folds", info=told, buttons=[], min_width=80)
        return {_TRIALS: trials, _FOLDS: folds}


def _held_search(config: Config) -> dict[str, Any]:
    trials = _SPECS[_TRIALS]
    return {_TRIALS: raw(trials, getattr(config, _TRIALS, trials.default)), _FOLDS: getattr(config, "folds", FOLDS)}


def _restored_search(kept: Mapping[str, Any]) -> dict[str, Any]:
    values = _held_search(FairComparisonConfig()) | settings(FairComparisonConfig, kept, only=[_TRIALS])
    folds = kept.get(_FOLDS)
    return values | ({_FOLDS: folds} if isinstance(folds, int) and 2 <= folds <= _MOST_FOLDS else {})
