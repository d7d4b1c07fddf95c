"""Actions of the page and the API on runs: start, pause, resume, stop, delete, list."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from explorer.keeping.keeper import Keeper, Kept
from explorer.server.library import folders, open_folder
from explorer.server.maps import ask_refined
from explorer.server.queue import Wait, minutes_left
from explorer.server.scheduler import Scheduler
from explorer.server.shares import Shares, check_size
from explorer.server.visitors import NOBODY, Caller, owner_of, owns
from explorer.settings import Settings
from trainers import plugins
from trainers.cluster.holding import check_not_there
from trainers.config import Config, RunConfig
from trainers.devices.device import check_processes
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError, RunError
from trainers.kinds import kind_of
from trainers.kinds.checks import pinned
from trainers.metrics.names import Described
from trainers.parameters import specs
from trainers.plans.children import add_seeds, children_of, lacks, with_more_seeds
from trainers.plans.config import sweep_of
from trainers.retrieval.probe_results import diagnosed
from trainers.runs import RunFolder, is_id, list_runs
from trainers.runs.damage import reading
from trainers.runs.label import Label, write_label
from trainers.runs.records import BETWEEN_SLICES, PHASES, RunState
from trainers.runs.regular import is_there

LOST = "Runs are lost when this page restarts. To keep one, download its folder in the tab Runs."
FIRST_WORD_SECONDS = 5.0  # most time that a trainer takes from locking a run to writing its first state

Act = Callable[[str, str], str]
"""An action on a run by the holder of a token: takes id and token, returns a sentence."""


class Runs:
    """The runs of one explorer. Every refusal is a :class:`trainers.errors.RunError` with a sentence."""

    def __init__(self, settings: Settings, scheduler: Scheduler, keeper: Keeper | None = None) -> None:
        self._settings = settings
        self._keeper = keeper
        self._scheduler = scheduler
        self._shares = Shares(settings.limits, scheduler.is_busy)
        self._starting = threading.Lock()

    @property
    def public(self) -> bool:
        """Whether strangers start them."""
        return self._settings.public

    def start(self, config: Config, token: str, caller: Caller = NOBODY) -> str:
        """Queue a configuration for a visitor, who holds ``token`` or has signed in; returns the run's id at once."""
        self._check_private(config)
        _check_weights(config)
        config = pinned(config)
        with self._starting:  # counted and added in one step: two starts at once cannot both be the last one allowed
            owner = owner_of(token, caller)
            self._check_limits(config, owner, caller)
            folder = RunFolder.create(self._settings.runs, config, owner=owner)
            self._scheduler.add(folder)
            self._shares.started(folder.id, caller)
        return folder.id

    def check(self, config: Config) -> None:
        """Refuse a checked configuration that may not be started here at all, however many runs wait.

        Raises:
            UserError: why it may not.
        """
        self._check_private(config)
        if self._settings.public:
            check_size(config, self._settings.limits)

    @property
    def most_runs(self) -> int | None:
        """Runs that a plan may have; None: any number."""
        return self._settings.limits.runs if self._settings.public else None

    def affordable(self, config: Config) -> Config:
        """Shorten a budget in minutes to what may be started here; on one's own machine it stays as it is."""
        if self._settings.public and self._trains_too_long(config.single):
            return config.changed(minutes=self._settings.limits.minutes)
        return config

    def work(self, config: Config) -> tuple[int, float | None]:
        """Count the runs a plan may have, and the minutes until all have ended if nothing else is trained.

        None: their budget is no time.
        """
        planned = kind_of(config).runs_of(config)
        count = int(kind_of(config).sizes(config).get("runs", 1))
        minutes = [minutes_left(run, RunState(phase="queued")) for run in planned]
        known = [left for left in minutes if left is not None]
        slots = min(self._scheduler.slots, max(1, len(planned)))
        return count, sum(known) / slots * count / len(planned) if len(known) == len(planned) else None

    def _check_private(self, config: Config) -> None:
        run = config.single
        for spec in specs(type(run)):
            if self.public and spec.rule.private and getattr(run, spec.name) != spec.default:
                raise ParameterError(f"{spec.label} cannot be set on a public page.")
        check_processes(run.processes, run.device)

    def pause(self, run_id: str, token: str, caller: Caller = NOBODY) -> str:
        """Ask the trainer to pause; returns a sentence."""
        folder = self.controlled(run_id, token, caller)
        phase = folder.state().phase
        if "pause" in PHASES[phase].acts and "pause" not in kind_of(folder.config).phase(phase).acts:
            raise RunError("The runs of a plan cannot be paused together; stop it, and resume it later.")
        if not PHASES[phase].active or "resume" in PHASES[phase].acts:
            raise RunError(f"Only a run that trains can be paused; this one is {phase}.")
        folder.send("pause")
        return "It pauses after this step."

    def resume(self, run_id: str, token: str, caller: Caller = NOBODY) -> str:
        """Let a paused run go on, or queue a stopped, interrupted or failed one again; returns a sentence."""
        folder = self.controlled(run_id, token, caller)
        folder.config.check_whole()
        plugins.check(folder.plugins)
        phase, lost = folder.state().phase, ""
        if "resume" not in PHASES[phase].acts and not (lost := lacks(folder)):
            raise RunError(f"Only a paused, stopped, interrupted or failed run can be resumed; this one is {phase}.")
        if PHASES[phase].active:
            folder.send("resume")
            return "It is resumed."
        with self._starting:
            self._check_limits(folder.config, folder.owner, caller)
            self._scheduler.add(folder)
            self._shares.started(run_id, caller)
        if lost:
            return f"{lost}; they resume when it is their turn."
        return "It resumes from its last checkpoint when it is its turn."

    def add_seeds(self, run_id: str, token: str, count: int, caller: Caller = NOBODY) -> str:
        """Train a plan that has ended with more seeds; returns a sentence."""
        folder = self.controlled(run_id, token, caller)
        plugins.check(folder.plugins)
        with self._starting:
            self._check_limits(with_more_seeds(sweep_of(folder.config), count), folder.owner, caller)
            more = add_seeds(folder, count)
            self._scheduler.add(folder)
            self._shares.started(run_id, caller)
        return f"It resumes with {count} more seed{'s' if count > 1 else ''}, {len(more.seeds)} in all."

    def stop(self, run_id: str, token: str, caller: Caller = NOBODY) -> str:
        """End a run, keeping its checkpoint, or take it out of the queue; returns a sentence."""
        folder = self.controlled(run_id, token, caller)
        rests = folder.state().phase == BETWEEN_SLICES
        if self._scheduler.take_out(run_id):
            return "It is stopped." if rests else "It left the queue."
        if self._scheduler.stop_plan(run_id):
            return "Its runs save their checkpoints and stop."
        phase = _phase_once_begun(folder)
        if not PHASES[phase].active:
            raise RunError(f"Only a run that waits or trains can be stopped; this one is {phase}.")
        folder.send("stop")
        return "It saves a checkpoint and stops."

    def refine(self, run_id: str, token: str, caller: Caller = NOBODY) -> str:
        """Ask for the refined map of a run that has ended; returns a sentence."""
        folder = self.controlled(run_id, token, caller)
        try:
            return ask_refined(folder)
        finally:
            folder.db.close()

    def label(self, run_id: str, token: str, label: Label, caller: Caller = NOBODY) -> Label:
        """Write name, note and tags of a run; returns them as they are kept."""
        folder = self.controlled(run_id, token, caller)
        folder.db.close()
        return write_label(folder.path, label)

    def delete(self, run_id: str, token: str, caller: Caller = NOBODY) -> str:
        """Remove a run's folder, damaged or not, and the runs that are part of it; returns a sentence."""
        folder = self._owned(self._any(run_id), token, caller)
        parts = list(children_of(folder))
        if any(self._scheduler.is_busy(each.id) for each in (folder, *parts)):
            raise RunError("This run waits or trains; stop it before deleting it.")
        for each in (folder, *parts):
            check_not_there(each)
        for each in (*parts, folder):  # the plan last: what is left of it after an error can be deleted again
            if self._keeper is not None:
                self._keeper.forget(each.id)
            each.delete()
        return "The run is deleted." if not parts else f"It is deleted, with its {len(parts)} runs."

    @property
    def lost(self) -> str:
        """What of the runs a restart of the page would lose, as a sentence for visitors; empty: nothing."""
        if self._keeper is not None:
            return self._keeper.problem
        return LOST if self._settings.on_space else ""

    def kept(self, folder: RunFolder) -> Kept | None:
        """Return what would be left of a run after a restart; None where runs are not copied."""
        return None if self._keeper is None or folder.read_only else self._keeper.kept(folder)

    def acts(self, caller: Caller) -> dict[str, Act]:
        """Return the actions on a run by name, for whoever calls."""
        named = {"pause": self.pause, "resume": self.resume, "stop": self.stop, "delete": self.delete}
        return {name: functools.partial(act, caller=caller) for name, act in named.items()}

    def wait(self, run_id: str) -> Wait | None:
        """Return the place of a run in the queue; None when it does not wait."""
        return self._scheduler.wait(run_id)

    def position(self, run_id: str) -> int | None:
        """Return the position in the queue, 1 is next; None when it does not wait."""
        wait = self._scheduler.wait(run_id)
        return wait.position if wait else None

    def status(self, run_id: str) -> dict[str, Any]:
        """Return the state and the newest numbers of a run or recording. The fields are those of ``run_status``."""
        folder = self.find(run_id)
        state, wait = folder.state(), self._scheduler.wait(run_id)
        with reading(run_id):
            config, probe = folder.config, folder.probe()
            newest: list[dict[str, float]] = [{} for _ in _names(config)]
            for scalar in folder.scalars():
                newest[scalar.arm][scalar.key] = scalar.value
            diagnosis = diagnosed(config, folder)
        folder.db.close()
        measures, levels = kind_of(config).measures_of(config), () if probe is None else tuple(probe.hierarchy.levels)
        keys = sorted({key for numbers in newest for key in numbers}, key=measures.order)
        return {
            **_about(folder, config, state),
            "queue_position": wait.position if wait else None,
            "wait_minutes": wait.minutes if wait else None,
            "metrics": newest,
            "measures": {key: _measure(measures.describe(key, levels)) for key in keys},
            "notes": [] if probe is None else list(probe.notes),
            "advice": _advice(config),
            "diagnosis": diagnosis,
        }

    def listing(self) -> list[dict[str, Any]]:
        """List id, state, losses and images of every run, newest first, recorded ones last.

        A damaged one has the phase ``failed``, what is wrong as its error, and nothing else.
        """
        entries: list[dict[str, Any]] = []
        for folder in folders(self._settings.runs, self._settings.recorded):
            try:
                with reading(folder.id):
                    folder.check()
                    entries.append(_about(folder, folder.config, folder.state()))
            except RunError as error:
                failed = {"id": folder.id, "recorded": folder.read_only, "phase": "failed", "error": str(error)}
                entries.append(failed)
            finally:
                folder.db.close()
        return entries

    def trained_here(self) -> list[RunFolder]:
        """List the runs that are no recordings, newest first, damaged or not."""
        return list_runs(self._settings.runs)

    @property
    def place(self) -> Path:
        """The folder where runs are made."""
        return self._settings.runs

    def find(self, run_id: str) -> RunFolder:
        """Open the folder of a run or of a recorded run."""
        settings = self._settings
        return open_folder(settings.runs, run_id, settings.recorded, settings.opened)

    def controlled(self, run_id: str, token: str, caller: Caller = NOBODY) -> RunFolder:
        """Open the folder of a run that a visitor may control.

        Raises:
            RunError: there is no such run, or it is not theirs.
        """
        if not run_id:
            raise RunError("No run is open; open one in the Runs tab, or train one.")
        return self._owned(self.find(run_id), token, caller)

    def is_of(self, folder: RunFolder, token: str, caller: Caller = NOBODY) -> bool:
        """Return whether a run is a visitor's to change: one they started; on one's own machine all but recordings."""
        return not folder.read_only and (not self.public or owns(folder.owner, token, caller))

    def _any(self, run_id: str) -> RunFolder:
        """Open whatever bears the name of an own run, damaged or not; otherwise as :meth:`find`."""
        if is_id(run_id) and is_there(self._settings.runs / run_id):
            return RunFolder(self._settings.runs / run_id)
        return self.find(run_id)

    def _owned(self, folder: RunFolder, token: str, caller: Caller) -> RunFolder:
        if folder.read_only:
            raise RunError("This is a recorded run that ships with the program; it can be watched but not changed.")
        if not folder.writable:
            raise RunError(f"The run {folder.id} is in a read-only folder; it can be watched but not changed.")
        if not self.is_of(folder, token, caller):
            raise RunError("Only the visitor who started this run may change it.")
        return folder

    def _trains_too_long(self, config: RunConfig) -> bool:
        return config.minutes is None or config.minutes > self._settings.limits.minutes

    def _check_limits(self, config: Config, owner: str, caller: Caller) -> None:
        if not self._settings.public:
            return
        limits = self._settings.limits
        if not owner:
            raise RunError(
                "On a public page a run needs an owner: send any secret word as `token`, and the same word to stop it."
            )
        for run in kind_of(config).runs_of(config):
            if self._trains_too_long(run):
                got = "no limit" if run.minutes is None else f"{run.minutes:g}"
                raise RunError(f"On this page a run may train for {limits.minutes:g} minutes at most; got {got}.")
        if self._scheduler.waiting(owner) >= limits.waiting:
            raise RunError(
                f"{limits.waiting} of your runs wait already; stop one of them, or wait until one of them trains."
            )
        if self._scheduler.waiting() >= limits.queue:
            raise RunError(
                f"{limits.queue} runs wait already; please come back later, or run this on your own machine."
            )
        self._shares.check(caller)
        check_size(config, limits)


def _check_weights(config: Config) -> None:
    """Refuse a run whose published weights can be had neither here nor from the network.

    Raises:
        RunError: why not, and what brings them.
    """
    run: Any = config.single
    begins = run.encoder_prefix and hasattr(run, "encoder") and not (run.start or run.weights)
    if begins and (lacking := ENCODERS[run.encoder.name].lacking(run.encoder.parameters)):
        raise RunError(lacking)


def _phase_once_begun(folder: RunFolder) -> str:
    """Return the phase, once a trainer that has just taken the run has written it; before that it obeys no command."""
    end = time.monotonic() + FIRST_WORD_SECONDS
    while True:
        phase = folder.state().phase
        waits = PHASES[phase].moving and not PHASES[phase].active
        if not waits or not folder.is_alive() or time.monotonic() > end:
            return phase
        time.sleep(0.02)


def _about(folder: RunFolder, config: Config, state: RunState) -> dict[str, Any]:
    """Describe a run for a list."""
    about = {"id": folder.id, "recorded": folder.read_only, "data": kind_of(config).source(config)}
    return {**about, **asdict(state), "by_stage": kind_of(config).by_stage(folder), "losses": _names(config)}


def _measure(described: Described) -> dict[str, str]:
    return {"title": described.title, "unit": described.measure.unit, "better": described.measure.better}


def _names(config: Config) -> list[str]:
    return [arm.name for arm in kind_of(config).arms(config)]


def _advice(config: Config) -> list[str]:
    """Return the advice on a run; none if this version does not know its parameters, so that it can still be viewed."""
    try:
        return list(kind_of(config).advice(config))
    except ParameterError:
        return []
