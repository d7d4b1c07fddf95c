"""Sweeps: they are started from the form of a single run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradio.components import Component

from explorer.page.kinds.base import FormContext, KindPage, PlanForm
from explorer.page.kinds.metric_learning import KIND as SINGLE
from explorer.page.kinds.metric_learning import LOSS_PICKER
from explorer.page.parameter_panel import fold
from explorer.page.vary_form import VaryForm
from trainers.config import BUDGET, RunConfig, converted
from trainers.kinds import check
from trainers.kinds.sweep import DESCRIPTOR as KIND
from trainers.kinds.sweep.axes import offered
from trainers.kinds.sweep.config import SweepConfig

VARIED = VaryForm(
    config=SweepConfig,
    offered=offered,
    follows=LOSS_PICKER.names,
)


def build(fields: Mapping[str, Component], context: FormContext) -> dict[str, Component]:
    """Build the fold."""
    with fold("Over seeds"):
        return VARIED.build(fields, context.drawn)


def config(run: RunConfig, values: Mapping[str, Any]) -> SweepConfig:
    """The sweep over the runs that the form describes.

    Raises:
        UserError: what is wrong.
    """
    made = converted(run, SweepConfig, **VARIED.read(values))
    check(made)
    return made


DESCRIPTOR = KindPage(
    name=KIND.name,
    plan=PlanForm(
        of=SINGLE.name,
        button="Train over seeds",
        build=build,
        config=config,
        held=VARIED.held,
        restored=VARIED.restored,
        counted=(*LOSS_PICKER.names, *BUDGET),
    ),
)
