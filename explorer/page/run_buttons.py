"""Pause, Resume, Stop and Delete for lists of runs."""

from __future__ import annotations

import functools
import html
import json
from typing import Any

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.scripted import scripted
from explorer.server.runs import Act, Runs
from explorer.server.visitors import NOBODY, Caller, caller
from trainers.errors import UserError

_ACT = '{ act: (action, id, token, more) => trigger("act", { action, id, token, ...more }), public: props.public }'
CHANGED = "() => { window.dispatchEvent(new CustomEvent('rankscope:changed')); return []; }"


def attempt(act: Act, run_id: str, token: str) -> str:
    """Run the action and return its reply, or the error, as HTML."""
    try:
        return paragraph(act(run_id or "", token or ""), role="status")
    except (UserError, OSError) as error:
        return failed(str(error))


def acting(runs: Runs, module: str, host: str, what: str, *, said: str, **options: Any) -> None:
    """Add a view that changes runs: its module gets ``act(action, id, token, more)``, which :func:`perform` answers.

    Args:
        module, host, what, options: see :func:`explorer.page.scripted.scripted`.
        said: id of the line above the view that says what came of an action.
    """
    answer = gr.HTML("", elem_id=said)
    view = scripted(module, host, what, _ACT, public=runs.public, **options)

    def act(event: gr.EventData, request: gr.Request) -> str:
        return perform(runs, event._data, caller(request))

    view.act(act, None, answer, **QUIET).then(fn=None, js=CHANGED)


def perform(runs: Runs, data: object, asking: Caller = NOBODY) -> str:
    """Run an action that a list of runs asks for; returns a sentence as HTML.

    Args:
        data: from a browser, and not trusted.
    """
    asked = data if isinstance(data, dict) else {}
    act = runs.acts(asking).get(str(asked.get("action")))
    if asked.get("action") == "add_seeds":
        count = asked.get("seeds")
        act = functools.partial(_add_seeds, runs, count if isinstance(count, int) else 0, asking)
    if act is None:
        return failed(f"A run can be paused, resumed, stopped or deleted; got {json.dumps(asked)[:80]}.")
    return attempt(act, str(asked.get("id") or ""), str(asked.get("token") or ""))


def _add_seeds(runs: Runs, count: int, asking: Caller, run_id: str, token: str) -> str:
    return runs.add_seeds(run_id, token, count, asking)


def failed(sentence: str) -> str:
    """Write an error as HTML, announced by screen readers."""
    return paragraph(sentence, "rs-alert", "alert")


def paragraph(text: str, kind: str = "rs-sentence", role: str | None = None) -> str:
    """Write a paragraph of plain text as HTML; it is escaped, since names of datasets and titles are untrusted."""
    return f'<p class="{kind}"{f" role={role}" if role else ""}>{html.escape(text)}</p>'
