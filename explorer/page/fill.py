"""Fills a form with the settings of a run, so that what plans such runs can be started from them."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.forms import Forms
from explorer.page.inspection import failed, paragraph
from explorer.page.scripted import scripted
from explorer.server.runs import Runs
from trainers.errors import RunError, UserError
from trainers.kinds import KINDS

_GIVEN = '{ fill: (id) => trigger("fill", { id, turn: String(performance.now()) }), forms: props.forms }'
_SAID = "The form holds the settings of this run. Choose seeds, and what else is varied, then press the button."
_SHORTER = "Their time is {:g} minutes, the longest that this page allows; the limit on steps is that of the run."


def fill_event(forms: Forms, note: gr.HTML, runs: Runs) -> None:
    """Add the event; ``assets/page/plans.js`` raises it and says which runs it is offered for.

    Only of the form that is chosen at first: nothing may update another one before it is chosen.
    """
    built = forms.by_kind[forms.first]
    if not built.plans:
        return
    form = built.form
    offered = [forms.first]
    host = scripted("page/plans.js", "rs-nothing", "The form", _GIVEN, forms=offered)
    outputs = [*form.fields.values(), *form.shown, forms.kind, built.drawn, note]

    def fill(event: gr.EventData) -> list[Any]:
        asked = event._data if isinstance(event._data, dict) else {}
        try:
            config = runs.find(str(asked.get("id") or "")).config
            if config.single.kind != forms.first:
                raise RunError(f"A run of the kind {KINDS[forms.first].title} was needed; choose another run.")
            within = runs.affordable(config)
            values = form.held(within)
        except (UserError, OSError) as error:
            return [*[gr.skip()] * (len(outputs) - 1), failed(str(error))]
        shown = form.following(values)
        said = _SAID if within == config else f"{_SAID} {_SHORTER.format(within.single.minutes)}"
        return [*values.values(), *shown, forms.first, str(asked.get("turn") or ""), paragraph(said, role="status")]

    filled = host.fill(fill, None, outputs, **QUIET)
    if form.looked:
        filled.then(form.look, [form.fields[name] for name in form.looks_at], list(form.looked), **QUIET)
