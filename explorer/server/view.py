"""What the page shows of a run, as plain values for JSON. Read-only, cheap, and safe to call for any visitor."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from explorer.server.library import Library, Run
from explorer.server.ownership import digest
from explorer.titles import arm_titles, data_title, run_title, severity_words, summary
from trainers.config import RunConfig
from trainers.errors import RunError
from trainers.kinds import KINDS, kind_of
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.records import ACTIVE, PHASES, Phase, Probe, RunState

METRIC_ROWS = 2000
DAMAGED = Phase(label="damaged")
Json = dict[str, Any]


class Queue(Protocol):
    """The queue of runs."""

    def position(self, run_id: str) -> int | None:
        """1 is next; None when the run does not wait."""


# ------------------------------------------------------------------ all runs


def runs(library: Library, queue: Queue | None, token: str | None) -> list[Json]:
    """Every run for the list, newest first, recordings last; a damaged one says so and hides no other."""
    return [_card(library, folder, queue, token) for folder in library.folders()]


def start(library: Library) -> str | None:
    """The run that a new visitor sees first: one that trains, the last finished one, or a recording."""
    active, finished, recordings = ([] for _ in range(3))  # type: ignore[var-annotated]
    for folder in library.folders():
        try:
            run = library.get(folder.id)
            phase = run.at_rest("phase", lambda run=run: run.folder.state().phase)
        except RunError:
            continue  # a damaged run is shown in the list, never first
        if run.recorded:
            recordings.append((list(KINDS).index(run.config.kind), folder.id))
        elif phase in ACTIVE:
            active.append(folder.id)
        elif phase == "finished":
            finished.append(folder.id)
    first = sorted(recordings, key=lambda one: one[0])  # of equal ones the newest stays first
    return next(iter((*active, *finished, *(run_id for _, run_id in first))), None)


def created(run_id: str) -> float:
    """Seconds since the epoch at which the run was made: the first ten letters of its id are milliseconds."""
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    milliseconds = 0
    for letter in run_id[:10]:
        milliseconds = milliseconds * 32 + digits.index(letter)
    return milliseconds / 1000


def _card(library: Library, folder: RunFolder, queue: Queue | None, token: str | None) -> Json:
    card: Json = {
        "id": folder.id,
        "title": f"Run {folder.id}",
        "data": "",
        "summary": "",
        "losses": [],
        "phase": "damaged",
        **_phase_json("damaged", DAMAGED),
        "recorded": folder.read_only,
        "read_only": not folder.writable,
        "step": 0,
        "planned_steps": None,
        "seconds": 0.0,
        "bytes": 0,
        "created": created(folder.id),
        "message": "",
        "error": None,
        "kind": "",
        "headline": [],
        "queue_position": None,
        "mine": None if token is None else _is_mine(folder, token),
    }
    try:
        with reading(folder.id):
            run = library.get(folder.id)
            return card | run.at_rest("card", lambda: _card_of(run, queue))
    except RunError as error:
        return card | {"error": str(error), "bytes": folder.size()}


def _card_of(run: Run, queue: Queue | None) -> Json:
    state = run.folder.state()
    return {
        "title": run_title(run),
        "data": data_title(run),
        "summary": summary(run),
        "losses": arm_titles(run.config),
        "kind": run.config.kind,
        **_state(state),
        "bytes": run.size(state.updated),
        "headline": _headline(run),
        "queue_position": _position(run, queue, state.phase),
    }


def _is_mine(folder: RunFolder, token: str) -> bool:
    return not folder.read_only and folder.owner in ("", digest(token))


def _headline(run: Run) -> list[Json]:
    measures = kind_of(run.config).measures
    newest = run.folder.newest(*measures.headline)
    return [
        {
            "key": key,
            "title": measures.describe(key).short,
            "values": [_number(newest.get((arm, key))) for arm in range(run.config.arms)],
        }
        for key in measures.headline
    ]


def _state(state: RunState) -> Json:
    """The state of a run, with what the page needs to know about its phase."""
    return {
        "phase": state.phase,
        **_phase_json(state.phase, PHASES[state.phase]),
        "message": state.message,
        "error": state.error,
        "step": state.step,
        "planned_steps": state.planned_steps,
        "seconds": state.seconds,
    }


def _phase_json(name: str, phase: Phase) -> Json:
    return {**asdict(phase), "finished": name == "finished", "failed": name == "failed", "damaged": phase is DAMAGED}


def _position(run: Run, queue: Queue | None, phase: str) -> int | None:
    return queue.position(run.id) if queue is not None and phase == "queued" else None


# ------------------------------------------------------------------- one run


def about(run: Run) -> Json:
    """Everything about one run that the page needs before it draws; labels are empty until the data is read."""
    state = run.folder.state()
    return {
        "id": run.id,
        "title": run_title(run),
        **_state(state),
        "recorded": run.recorded,
        "read_only": not run.folder.writable,
        "created": created(run.id),
        "config": json.loads(run.config.to_json()),
        "summary": summary(run),
        "kind": run.config.kind,
        "arms": _arms(run.config),
        "frames": [list(pair) for pair in run.folder.frame_steps()],
        "measures": kind_of(run.config).measures.json(),
    } | _points(run.probe)


def _arms(config: RunConfig) -> list[Json]:
    return [
        {"title": arm.title, "name": arm.name, "loss": arm.label, "parameters": dict(arm.parameters)}
        for arm in kind_of(config).arms(config)
    ]


def _points(probe: Probe | None) -> Json:
    if probe is None:
        empty: Json = {"levels": [], "names": [], "parents": [], "words": [], "points": 0, "labels": [], "notes": []}
        return empty | {"tile": 0, "columns": 0, "sheets": 0}
    tree = probe.hierarchy
    return {
        "levels": list(tree.levels),
        "names": [list(level) for level in tree.names],
        "parents": parents(probe),
        "words": severity_words(tree),
        "points": len(probe.labels),
        "labels": probe.labels.T.tolist(),
        "notes": list(probe.notes),
        "tile": probe.tile,
        "columns": probe.columns,
        "sheets": probe.sheets,
    }


def parents(probe: Probe) -> list[list[int]]:
    """For every level but the coarsest, the id of each class's parent one level up; -1 for a class without images."""
    parents: list[list[int]] = []
    for level in range(probe.hierarchy.depth - 1):
        above = np.full(len(probe.hierarchy.names[level]), -1, dtype=np.int64)
        above[probe.labels[:, level]] = probe.labels[:, level + 1]
        parents.append(above.tolist())
    return parents


# ---------------------------------------------------------------- live parts


def poll(run: Run, queue: Queue | None, after: int, row: int) -> Json:
    """What is new beyond frame ``after`` and metrics row ``row``.

    Training that is resumed drops what was written after its checkpoint. Where that leaves ``after`` beyond the newest
    frame, ``rewound`` is true and the newest frame and all frames come again.
    """
    state = run.folder.state()
    listed = run.folder.frame_steps(after)
    newest = listed[-1][0] if listed else run.folder.newest_map()
    rewound = newest is not None and newest < after
    if rewound:
        listed = run.folder.frame_steps()
    beyond = -1 if rewound else after
    row, metrics = _metrics(run, row)
    return {
        **_state(state),
        "queue_position": _position(run, queue, state.phase),
        "rewound": rewound,
        "frame": frame_info(run, newest) if newest is not None and newest > beyond else None,
        "frames": [list(pair) for pair in listed],
        "row": row,
        "metrics": metrics,
        "keys": _keys(run, {key for _, _, key, _ in metrics}),
    }


def frame_info(run: Run, k: int) -> Json:
    """Step, limit, and each arm's quality, drift and method of frame ``k``.

    Raises:
        RunError: there is no frame ``k``.
    """
    rows = run.folder.frame_rows(k)
    arms = [{"quality": _number(row[3]), "drift": _number(row[4]), "method": row[5]} for row in rows]
    return {"k": k, "step": rows[0][0], "seconds": rows[0][1], "limit": rows[0][2], "arms": arms}


def _metrics(run: Run, after: int) -> tuple[int, list[list[Any]]]:
    rows = run.folder.metric_rows(after, METRIC_ROWS)
    # JSON has no infinity; a loss that diverged is reported by the run's error, not by the curve
    values = [[arm, step, key, value] for _, arm, step, key, value in rows if _number(value) is not None]
    return (rows[-1][0] if rows else after), values


def _keys(run: Run, keys: set[str]) -> dict[str, Json]:
    """Name, title and unit of each key."""
    measures = kind_of(run.config).measures
    levels = () if run.probe is None else tuple(run.probe.hierarchy.levels)
    return {key: measures.key_json(key, levels) for key in sorted(keys)}


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
