"""Pause, Resume and Stop, for the run that is being viewed."""

from __future__ import annotations

from collections.abc import Callable

import gradio as gr

from explorer.page.inspection import failed, paragraph
from explorer.server.runs import Act, Runs
from explorer.server.visitors import caller
from trainers.errors import UserError

_VIEWED = "() => [window.rankscope?.current?.() ?? '', window.rankscope?.token?.() ?? '']"


def run_buttons(runs: Runs, run_id: gr.Textbox, token: gr.Textbox) -> None:
    """Add the buttons; ``shell.js`` enables what the run's phase allows."""
    with gr.Row(elem_id="rs-controls"):
        pause = gr.Button("Pause", elem_id="rs-pause", min_width=60)
        resume = gr.Button("Resume", elem_id="rs-resume", min_width=60)
        stop = gr.Button("Stop", elem_id="rs-stop", min_width=60)
    said = gr.HTML("", apply_default_css=False, elem_id="rs-said")
    for button, act in ((pause, "pause"), (resume, "resume"), (stop, "stop")):
        button.click(
            _pressed(runs, act),
            [run_id, token],
            [said],
            js=_VIEWED,
            api_visibility="private",
            show_progress="hidden",
        )


def _pressed(runs: Runs, act: str) -> Callable[..., str]:
    def press(viewed: str, secret: str, request: gr.Request) -> str:
        return attempt(runs.acts(caller(request))[act], viewed, secret)

    return press


def attempt(act: Act, run_id: str, token: str) -> str:
    """Run the action and return its reply, or the error, as HTML."""
    try:
        return paragraph(act(run_id or "", token or ""), role="status")
    except (UserError, OSError) as error:
        return failed(str(error))
