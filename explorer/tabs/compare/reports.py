"""The plans of the tab: the list, and the report of each, made anew only when a run has ended."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer.exports import offered
from explorer.page.kinds import PAGES
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.states import Json, created, is_mine, position, state_json, with_lacking
from explorer.server.titles import run_title, summary
from explorer.server.visitors import NOBODY, Caller
from explorer.tabs.compare.curves import Curves
from trainers.data.lru_cache import Cache
from trainers.errors import RunError, UserError
from trainers.kinds import kind_of
from trainers.metrics.names import key_of
from trainers.plans.base import plan_of
from trainers.plans.children import Children, ended_words, lacking_among, total
from trainers.plans.config import MOST_SEEDS, sweep_of
from trainers.plans.planned import Child
from trainers.plans.report import Report, report
from trainers.progress import interval
from trainers.publishing.comparison import origin
from trainers.runs.damage import reading
from trainers.runs.database import written
from trainers.runs.records import PHASES

if TYPE_CHECKING:
    from explorer.hub.routes import HubJobs
    from explorer.server.runs import Runs

KEPT = 32
"""Plans whose reports are kept."""
LOOK_SECONDS = interval(1.0)
"""Between two looks at the runs of a plan, however many viewers ask."""
CURVE_SECONDS = 10.0
"""Between two drawings of the curves of runs that train."""


class PlanReports:
    """Reports for many viewers at once.

    Args:
        runs: knows each plan's position in the queue, and changes it.
        hub: opens comparisons of the Hub.
    """

    def __init__(self, library: Library, runs: Runs, hub: HubJobs) -> None:
        self.library = library
        self.runs = runs
        self.hub = hub
        self.curves = Curves(library.room)
        self._kept: Cache[_Plan] = Cache(limit=KEPT)
        self._plans: dict[str, bool] = {}

    def list(self) -> list[Json]:
        """List id, title and phase of every plan, newest first, recordings last; damaged ones are left out."""
        plans = []
        for folder in self.library.folders():
            try:
                with reading(folder.id):
                    if not folder.part_of and self._is_plan(folder.id):
                        plans.append(_entry(self.library.get(folder.id)))
            except RunError:
                continue
        return plans

    @staticmethod
    def first(plans: Sequence[Json]) -> str:
        """Return the id of the plan that is shown before one is chosen: one that trains, else one with a result."""
        by_rank = sorted(plans, key=lambda plan: (not plan["moving"], plan["phase"] != "finished"))
        return str(by_rank[0]["id"]) if by_rank else ""

    def find(self, run_id: str) -> Run:
        """Return a plan that is viewed.

        Raises:
            RunError: there is none of this id, it is no plan, or cannot be read.
        """
        with reading(run_id[:40], passed=UserError):
            run = self.library.watch(run_id)
            plan_of(run.config)
        return run

    def report(self, run: Run) -> Report:
        """Return the report of a plan, with its runs as they are now.

        Raises:
            RunError: it is no plan, or cannot be read.
        """
        return self._plan(run).look(run)

    def about(self, run: Run, token: str | None, caller: Caller = NOBODY) -> Json:
        """Return what a plan is, where it stands and what can be done with it; its ``revision`` changes with what the
        tab shows of it.

        Raises:
            RunError: it is no plan, or cannot be read.
        """
        plan, children = self._plan(run), self.report(run).children
        state, page = run.folder.state(), PAGES.get(run.config.single.kind)
        about = {
            "id": run.id,
            "title": run_title(run),
            "summary": summary(run),
            "kind": run.config.kind,
            "offered": page is None or page.sidebar,
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
                "queue_position": position(self.runs, run, state.phase),
                "words": in_words(state.phase, children),
            },
            "runs": sum(child.phase != "planned" for child in children),
        }
        seen = [(child.id, child.phase) for child in children]
        text = json.dumps([about, seen, plan.written()], ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return about | {"revision": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]}

    def latex(self, run: Run, part: str, metrics: Sequence[str]) -> str:
        """Write the table of a part in some of its metrics as LaTeX.

        Raises:
            RunError: it is no plan, there is no such part, or it has no such metric.
        """
        made = next((each.table for each in self.report(run).parts if each.name == part), None)
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
            self._plans[run_id] = kind_of(self.library.get(run_id).config).plans
        return self._plans[run_id]


class _Plan:
    """The runs of a plan as they were when they were last looked at, and the report on them."""

    def __init__(self, run: Run) -> None:
        self._children = Children(run.folder)
        self._phase = ""
        self._seen = self._stamped = float("-inf")
        self._stamps = ""
        self._known: list[Child] = []
        self._ended: object = None
        self._report: Report | None = None
        self._lock = threading.Lock()

    def written(self) -> str:
        """Return what changes, now and then, when a run has written numbers that has no result yet."""
        if time.monotonic() - self._stamped >= CURVE_SECONDS:
            self._stamped = time.monotonic()
            going = [child for child in self._known if child.outcome is None]
            self._stamps = repr([written(self._children.plan.path.parent / child.id) for child in going])
        return self._stamps

    def look(self, run: Run) -> Report:
        """Return the report, made anew when a run has ended."""
        with self._lock, reading(run.id):
            if time.monotonic() - self._seen >= LOOK_SECONDS:
                phase = run.folder.state().phase
                if phase != self._phase:  # its runs may be trained on: what had ended is looked at again
                    self._children, self._phase = Children(run.folder), phase
                self._known = self._children.all()
                self._seen = time.monotonic()
            ended = tuple((child.id, child.phase) for child in self._known if child.outcome is not None)
            if self._report is None or ended != self._ended:
                self._report, self._ended = report(run.folder, self._known), ended
            return dataclasses.replace(self._report, children=self._known)


def _entry(run: Run) -> Json:
    phase = run.folder.state().phase
    about = {"id": run.id, "title": run_title(run), "phase": phase, "moving": PHASES[phase].moving}
    return about | {"recorded": run.recorded, "created": created(run.id)}


def _lost(phase: str, children: Sequence[Child]) -> str:
    return lacking_among(phase, (child.phase for child in children), len(children))


def in_words(phase: str, children: Sequence[Child]) -> str:
    """Return the state of a plan in a line."""
    if not PHASES[phase].begun:
        return f"{PHASES[phase].label.capitalize()}: {len(children)} runs are planned."
    if PHASES[phase].active or phase == "finished":
        return f"{total(children).message}."
    ending = any(child.active for child in children)
    label = "Stopping; its run is saved first" if ending else PHASES[phase].label.capitalize()
    return f"{label}. {ended_words(children)}."
