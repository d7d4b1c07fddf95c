"""The states of runs as plain values for JSON, for whoever lists them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from explorer.server.run import Run
from explorer.server.visitors import NOBODY, Caller, owns
from trainers.config import Config
from trainers.devices.space import on_zerogpu
from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.runs.folder import created as created  # for whoever describes a run
from trainers.runs.records import BETWEEN_SLICES, Phase, RunState

if TYPE_CHECKING:
    from explorer.server.runs import Runs

DAMAGED = Phase(label="damaged")
"""Of a run folder that cannot be read."""
Json = dict[str, Any]


def state_json(folder: RunFolder, state: RunState, config: Config) -> Json:
    """Describe the state of a run."""
    kind = kind_of(config)
    about = phase_json(state.phase, kind.phase(state.phase)) | progress_json(state, kind.by_stage(folder))
    if not config.lost:
        return about
    return about | {"acts": [act for act in about["acts"] if act != "resume"], "message": config.lost_words}


def with_lacking(about: Json, lost: str) -> Json:
    """Let a described plan be resumed where runs of it have no result; ``lost``: how many, in words; empty: none."""
    return about | {"acts": [*about["acts"], "resume"], "label": f"{about['label']}, {lost}"} if lost else about


def progress_json(state: RunState, by_stage: str = "") -> Json:
    """Describe how far a run is, and what it says.

    Args:
        by_stage: see :meth:`trainers.kinds.base.Kind.by_stage`.
    """
    return {
        "message": state.message,
        "error": state.error,
        "step": state.step,
        "by_stage": by_stage,
        "planned_steps": state.planned_steps,
        "seconds": state.seconds,
    }


def phase_json(name: str, phase: Phase) -> Json:
    """Describe a phase for the page, which on ZeroGPU goes on by itself with what is between slices."""
    return {
        "phase": name,
        **asdict(phase),
        "acts": [act for act in phase.acts if not (act == "resume" and name == BETWEEN_SLICES and on_zerogpu())],
        "finished": name == "finished",
        "failed": name == "failed",
        "damaged": phase is DAMAGED,
    }


def position(runs: Runs, run: Run, phase: str) -> int | None:
    """Return the position in the queue, 1 is next; None when the run does not wait."""
    return runs.position(run.id) if phase == "queued" else None


def is_mine(folder: RunFolder, token: str | None, caller: Caller = NOBODY) -> bool | None:
    """Return whether a visitor started a run; None of one who shows neither a token nor a login.

    Whether they may change it is another question, see :meth:`explorer.server.runs.Runs.is_of`.
    """
    if token is None and not caller.login:
        return None
    return not folder.read_only and owns(folder.owner, token or "", caller)
