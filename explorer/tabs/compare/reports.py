"""The plans as the page shows them: the list, and the report of each, made anew only when a run has moved on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer.exports import offered
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.states import Json, created, is_mine, position, state_json, with_lacking
from explorer.server.titles import run_title, summary
from explorer.server.visitors import NOBODY, Caller
from trainers.comparison import ComparisonTable
from trainers.data.lru_cache import Cache
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.metrics.names import key_of
from trainers.plans.base import plan_of
from trainers.plans.children import Children, ended_words, lacking_among, total
from trainers.plans.config import MOST_SEEDS, sweep_of
from trainers.plans.planned import Child
from trainers.plans.report import Report, report
from trainers.publishing.comparison import origin
from trainers.runs.damage import reading
from trainers.runs.records import PHASES

if TYPE_CHECKING:
    from explorer.server.runs import Runs

KEPT = 32
"""Plans whose reports are kept."""
LOOK_SECONDS = 1.0
"""Between two looks at the runs of a plan, however many viewers ask."""


class PlanReports:
    """Reports for many viewers at once.

    Args:
        queue: knows each plan's position in the queue.
    """

    def __init__(self, library: Library, runs: Runs) -> None:
        self._library = library
        self._runs = runs
        self._kept: Cache[_Plan] = Cache(limit=KEPT)
        self._plans: dict[str, bool] = {}

    def list(self) -> list[Json]:
        """List id, title and phase of every plan, newest first, recordings last; damaged ones are left out."""
        plans = []
        for folder in self._library.folders():
            try:
                with reading(folder.id):
                    if not folder.part_of and self._is_plan(folder.id):
                        plans.append(_entry(self._library.get(folder.id)))
            except RunError:
                continue
        return plans

    def about(self, run: Run, token: str | None, caller: Caller = NOBODY) -> Json:
        """Return the report of a plan and its state.

        Raises:
            RunError: it is no plan, or cannot be read.
        """
        plan = self._plan(run)
        children, report = plan.look(run)
        state = run.folder.state()
        about = {
            "id": run.id,
            "title": run_title(run),
            "summary": summary(run),
            "kind": run.config.kind,
            "of": run.config.single.kind,
            "recorded": run.recorded,
            "hub": origin(run.folder),
            "read_only": not run.folder.writable,
            "seeds_left": MOST_SEEDS - len(sweep_of(run.config).seeds),
            "mine": is_mine(run.folder, token, caller),
            "downloads": offered(run),
            "state": {
                **with_lacking(state_json(run.folder, state, run.config), _lost(state.phase, children)),
                "step": total(children).step,
                "planned_steps": len(children),
                "queue_position": position(self._runs, run, state.phase),
                "words": in_words(state.phase, children),
            },
            **report,
        }
        text = json.dumps(about, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return about | {"revision": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]}

    def latex(self, run: Run, part: str, metrics: Sequence[str]) -> str:
        """Write the table of a part in some of its metrics as LaTeX.

        Raises:
            RunError: it is no plan, there is no such part, or it has no such metric.
        """
        made = self._plan(run).tables(run).get(part)
        shown = None if made is None else made.only(list(map(key_of, metrics)))
        if shown is None or not shown.metrics:
            raise RunError(f"A part of the comparison with results, and metrics of it were needed; got {part[:40]!r}.")
        return shown.latex()

    def _plan(self, run: Run) -> _Plan:
        """Return what is kept of a plan; RunError: it is none."""
        plan_of(run.config)
        return self._kept.get(run.folder.path, lambda: _Plan(run))  # an own one may have the id of a recording

    def _is_plan(self, run_id: str) -> bool:
        if run_id not in self._plans:
            self._plans[run_id] = kind_of(self._library.get(run_id).config).plans
        return self._plans[run_id]


class _Plan:
    """The runs of a plan as they were when they were last looked at, and the report on them."""

    def __init__(self, run: Run) -> None:
        self._children = Children(run.folder)
        self._phase = ""
        self._seen = float("-inf")
        self._known: list[Child] = []
        self._ended: object = None
        self._report: Report | None = None
        self._lock = threading.Lock()

    def look(self, run: Run) -> tuple[list[Child], Json]:
        """Return the runs, and the parts of the report as plain values."""
        with self._lock, reading(run.id):
            if time.monotonic() - self._seen >= LOOK_SECONDS:
                phase = run.folder.state().phase
                if phase != self._phase:  # its runs may be trained on: what had ended is looked at again
                    self._children, self._phase = Children(run.folder), phase
                self._known = self._children.all()
                self._seen = time.monotonic()
            return self._known, self._reported(run)

    def tables(self, run: Run) -> dict[str, ComparisonTable]:
        """Return the table of every part that has results, by name."""
        self.look(run)
        parts = () if self._report is None else self._report.parts
        return {part.name: part.table for part in parts if part.table is not None}

    def _reported(self, run: Run) -> Json:
        ended = tuple((child.id, child.phase) for child in self._known if child.outcome is not None)
        if self._report is None or ended != self._ended:
            self._report, self._ended = report(run.folder, self._known), ended
        values = dataclasses.replace(self._report, children=self._known).json()
        del values["title"]
        for child in values["runs"]:
            child["there"] = child["phase"] != "planned"
            child["label"] = PHASES[child["phase"]].label if child["there"] else "planned"
        return values


def _entry(run: Run) -> Json:
    phase = run.folder.state().phase
    about = {"id": run.id, "title": run_title(run), "phase": phase, "moving": PHASES[phase].moving}
    return about | {"recorded": run.recorded, "created": created(run.id)}


def _lost(phase: str, children: Sequence[Child]) -> str:
    return lacking_among(phase, (child.phase for child in children), len(children))


def in_words(phase: str, children: list[Child]) -> str:
    """Return the state of a plan in a line."""
    if not PHASES[phase].begun:
        return f"{PHASES[phase].label.capitalize()}: {len(children)} runs are planned."
    if PHASES[phase].active or phase == "finished":
        return f"{total(children).message}."
    ending = any(child.active for child in children)
    label = "Stopping; its run is saved first" if ending else PHASES[phase].label.capitalize()
    return f"{label}. {ended_words(children)}."
