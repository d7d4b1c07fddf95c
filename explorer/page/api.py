"""The public endpoints: the page's actions, with plain data in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from explorer.page.kinds import PAGES
from explorer.server.plain import typed
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from trainers.errors import RunError
from trainers.kinds import KINDS
from trainers.kinds.base import Kind
from trainers.parameters import describe
from trainers.plans import PLANS, Plan
from trainers.plans.config import FIRST
from trainers.plans.plain import configured, offered


def add_api(runs: Runs) -> None:
    """Add the endpoints of every kind, and those that the kinds add, to the page that is being built."""
    of_page = (function for page in PAGES.values() for function in page.endpoints(runs))
    for function in (*of_page, *_kind_functions(runs), *_run_functions(runs)):
        gr.api(typed(function), api_name=function.__name__)


def _kind_functions(runs: Runs) -> list[Callable[..., Any]]:
    """Return ``start_kind`` and ``list_kinds``."""

    def start_kind(
        kind: str,
        settings: dict[str, Any] | None = None,
        token: str = "",
        request: gr.Request | None = None,
    ) -> str:
        """Queue a run of any kind and return its id at once. A public page refuses it.

        Args:
            kind: a name that list_kinds returns.
            settings: those that differ from their defaults, as list_kinds and a run's config.json spell them.
            token: any secret word.
        """
        if runs.public:
            raise RunError("On a public page runs are started in the page, or by start_run.")
        return runs.start(configured(kind, settings or {}, _MACHINE), token, caller(request))

    def list_kinds() -> list[dict[str, Any]]:
        """List every kind of run with its settings: name, what is accepted, default and help."""
        return [*map(about, KINDS.values()), *map(about_plan, PLANS.values())]

    return [start_kind, list_kinds]


def _run_functions(runs: Runs) -> list[Callable[..., Any]]:
    """Return ``run_status``, ``stop_run``, ``add_seeds`` and ``list_runs``."""

    def run_status(run_id: str) -> dict[str, Any]:
        """Return phase, progress, position in the queue and newest numbers of a run.

        Args:
            run_id: 26 letters and digits, as start_run returned it.

        Returns:
            phase: queued, starting, running, paused, between slices, stopped, finished, failed or
                interrupted.
            queue_position, wait_minutes: 1 is next; null when it does not wait, or the wait is unknown.
            by_stage: the steps of each stage in words, of a run that has stages.
            losses: names of the losses (of a fine-tuning run: its recipes), in the order of metrics.
            metrics: for each loss the newest value of every number.
            measures: title, unit and better direction (up, down or empty) of each number.
            notes: sentences on how the images were read, and on those that could not be.
            advice: sentences about losses that the run's batches do not suit.
            diagnosis: for each loss sentences on what its newest numbers say of its training.
        """
        return runs.status(run_id)

    def stop_run(run_id: str, token: str = "", request: gr.Request | None = None) -> str:
        """Stop a run, keeping its checkpoint, or take it out of the queue.

        Args:
            run_id: as start_run returned it.
            token: the word given at the start.
        """
        return runs.stop(run_id, token, caller(request))

    def add_seeds(run_id: str, seeds: int, token: str = "", request: gr.Request | None = None) -> str:
        """Train a sweep that has ended with more seeds; what has finished is kept.

        Args:
            run_id: as start_run returned it.
            seeds: how many more.
            token: the word given at the start.
        """
        return runs.add_seeds(run_id, token, seeds, caller(request))

    def list_runs() -> list[dict[str, Any]]:
        """List every run, newest first, recorded ones last."""
        return runs.listing()

    return [run_status, stop_run, add_seeds, list_runs]


_MACHINE = ("device", "threads")
"""Settings that belong to the machine, not to the experiment."""


def about(kind: Kind) -> dict[str, Any]:
    """Describe a kind with its settings, for programs."""
    settings = [
        {"name": spec.name, "accepts": describe(spec), "default": repr(spec.default), "help": spec.rule.help}
        for spec in offered(kind, _MACHINE)
    ]
    return {"name": kind.name, "title": kind.title, "sentence": kind.sentence, "settings": settings}


def about_plan(plan: Plan) -> dict[str, Any]:
    """Describe a plan as :func:`about` does: its settings, the kind of its runs, and the settings of the first kind."""
    suited = [kind.name for kind in KINDS.values() if plan.suits(kind)]
    sentence = "The kind of its runs; those of the settings that follow which are not its own are given in their place."
    of = {"name": "of", "accepts": f"one of {', '.join(suited)}", "default": repr(FIRST), "help": sentence}
    known = about(plan)
    return known | {"settings": [*known["settings"], of, *about(KINDS[FIRST])["settings"]]}
