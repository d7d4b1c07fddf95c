"""The end of a form: what starts plans of runs of the form's kind, and how many runs that makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.controls import change_of
from explorer.page.inspection import failed, paragraph
from explorer.page.kinds import FormContext, KindForm, Values
from explorer.page.plan_forms import PlanForm, plan_forms
from explorer.server.runs import Runs
from explorer.server.titles import work
from trainers.config import Config
from trainers.errors import UserError
from trainers.kinds import KINDS


def with_plans(kind: str, form: KindForm, context: FormContext) -> tuple[KindForm, dict[str, PlanForm]]:
    """Add to a form the controls of the plans of its runs, built now; return it and those plans by name."""
    if context.runs is None:
        return form, {}
    plans = plan_forms(KINDS[kind], form)
    single = form.held
    form = dataclasses.replace(form, held=lambda config: single(config.single))
    for plan in plans.values():
        form = _with(form, plan, context, context.runs)
    return form, plans


def _with(form: KindForm, plan: PlanForm, context: FormContext, runs: Runs) -> KindForm:
    own = dict(plan.build(form.fields, context))
    fields = {**form.fields, **own}
    said = gr.HTML("", apply_default_css=False)

    def count(*given: object) -> str:
        values = dict(zip(fields, given, strict=True))
        try:
            made = plan.config(form.config(values), values)
            runs.check(made)
            steps = made.single.steps
            return paragraph(work(*runs.work(made), at_most=steps is not None), role="status")
        except (UserError, OSError) as error:
            return failed(str(error))

    counted = [*own.values(), *(form.fields[name] for name in plan.counted if name in form.fields)]
    gr.on(
        [context.drawn.change, *(change_of(field) for field in counted)],
        count,
        list(fields.values()),
        said,
        queue=False,
        trigger_mode="always_last",
        **QUIET,
    )

    def held(config: Config) -> Values:
        return {**form.held(config), **plan.held(config)}

    def restored(kept: Mapping[str, object]) -> Values:
        return {**form.restored(kept), **plan.restored(kept)}

    return dataclasses.replace(form, fields=fields, held=held, restored=restored)
