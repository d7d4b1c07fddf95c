"""The sidebar: the settings of a run, Train, and the buttons of the run that is viewed."""

from __future__ import annotations

import functools
import html
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.fill import fill_event
from explorer.page.forms import Forms, build_forms
from explorer.page.inspection import failed, paragraph
from explorer.page.kept_forms import remember
from explorer.page.run_buttons import run_buttons
from explorer.server.runs import Runs
from explorer.server.titles import waiting
from explorer.server.visitors import caller
from trainers.config import Config
from trainers.errors import UserError
from trainers.kinds import kind_of

if TYPE_CHECKING:
    from explorer.page.tab import Tab

_TITLE = '<h1 id="rs-title">Rankscope</h1><p class="rs-sentence">See what a ranking loss learns</p>'
_STATUS = '<p id="rs-status" role="status"></p>'
_WITH_TOKEN = "(...values) => [...values.slice(0, -1), window.rankscope?.token?.() ?? '']"
# on a phone the sidebar covers the page, so it closes when a run is started
_OPEN = """(id) => {
  const note = document.getElementById("rs-note");
  if (note) note.dataset.run = id ?? "";
  if (!id) return [];
  window.rankscope?.show?.(id);
  if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
  return [];
}"""


def sidebar(page: gr.Blocks, runs: Runs, tabs: Iterable[Tab[Any]]) -> None:
    """Build the sidebar and its events inside ``page``; ``tabs`` say what it shows while they are open."""
    with gr.Sidebar(label="Settings", width=288, elem_id="rs-sidebar"):
        gr.HTML(_TITLE, apply_default_css=False)
        gr.HTML(_asides(tabs), apply_default_css=False, elem_id="rs-aside")
        run_id = gr.Textbox(visible=False, label="Run")
        token = gr.Textbox(visible=False, label="Visitor's token")
        note = gr.HTML("", apply_default_css=False, elem_id="rs-note", render=False)
        with gr.Column(elem_id="rs-setup", min_width=80):
            forms = build_forms(note, runs)
        with gr.Column(elem_id="rs-go", min_width=80):
            train = gr.Button("Train", variant="primary", elem_id="rs-train")
            plans = _plan_buttons(forms)
            note.render()
            starting = _Starting(forms=forms, token=token, note=note, run_id=run_id, runs=runs)
            starting.add(train, forms.config)
            for (kind, name), button in plans.items():
                starting.add(button, functools.partial(_planned, forms, name, kind))
            fill_event(forms, note, runs)
            run_buttons(runs, run_id, token)
            gr.HTML(_STATUS, apply_default_css=False)
        remember(page, forms)


def _asides(tabs: Iterable[Tab[Any]]) -> str:
    """Write the text that replaces the settings while a tab is open in which they start nothing."""
    return "".join(
        f'<p class="rs-sentence" data-tab="{tab.name}" hidden>{html.escape(tab.aside)}</p>'
        for tab in tabs
        if not tab.trains
    )


def _plan_buttons(forms: Forms) -> dict[tuple[str, str], gr.Button]:
    """Make a button per form and plan; those that belong to another form than the chosen one are hidden."""
    with gr.Row(elem_id="rs-plans"):
        return {
            (kind, name): gr.Button(
                plan.button,
                elem_classes=["rs-plan", f"rs-of-{kind}", *(["rs-away"] if kind != forms.first else [])],
                min_width=60,
            )
            for kind, built in forms.by_kind.items()
            for name, plan in built.plans.items()
        }


def _planned(forms: Forms, name: str, kind: str, _chosen: str, values: Sequence[object]) -> Config:
    return forms.plan(name, kind, values)


@dataclass(frozen=True, kw_only=True)
class _Starting:
    """The common parts of the events of the buttons that start runs."""

    forms: Forms
    token: gr.Textbox
    note: gr.HTML
    run_id: gr.Textbox
    runs: Runs

    def add(self, button: gr.Button, config_of: Callable[[str, Sequence[object]], Config]) -> None:
        """Let a button check everything, queue the run and open it, or show the error below.

        Args:
            config_of: from the chosen kind and the values of the fields to a configuration.
        """

        def start(request: gr.Request, *values: object) -> tuple[str, str]:
            *given, kind, secret = values
            try:
                config = config_of(str(kind), given)
                started = self.runs.start(config, str(secret or ""), caller(request))
                lines = [waiting(self.runs.place(started)), *kind_of(config).advice(config)]
                return started, "".join(paragraph(line) for line in lines if line)
            except (UserError, OSError) as error:
                return "", failed(str(error))

        inputs = [*self.forms.fields, self.forms.kind, self.token]
        button.click(start, inputs, [self.run_id, self.note], js=_WITH_TOKEN, **QUIET).then(
            fn=None, inputs=[self.run_id], outputs=None, js=_OPEN
        )


def opened(tab: Tab[Any]) -> str:
    """Return JavaScript for the moment a tab is opened: ``shell.js`` shows of the sidebar what belongs to it."""
    detail = json.dumps({"name": tab.name, "trains": tab.trains, "plans": tab.plans})
    return f"() => {{ window.dispatchEvent(new CustomEvent('rankscope:tab', {{ detail: {detail} }})); return []; }}"
