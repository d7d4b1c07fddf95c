"""The list of runs as plain values for JSON, and which of them is shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.exports import offered
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.view import DAMAGED, Json, created, phase_json, position, state_json
from explorer.server.visitors import digest
from explorer.titles import data_title, run_title, summary
from trainers.cells import finite_number
from trainers.errors import RunError
from trainers.kinds import KINDS, arm_titles, kind_of
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.records import PHASES, RunState

if TYPE_CHECKING:
    from explorer.server.runs import Runs


def runs(library: Library, queue: Runs, token: str | None) -> list[Json]:
    """Every run for the list, newest first, recordings last; a damaged one says so and hides no other."""
    return [_card(library, folder, queue, token) for folder in library.folders()]


def start(library: Library) -> str | None:
    """The run that a new visitor sees first: one that trains, the last finished one, or a recording."""
    ranked = []
    for folder in library.folders():
        try:
            run = library.get(folder.id)
            phase = run.at_rest("phase", lambda run=run: run.folder.state().phase)
            if kind_of(run.config).plans or (run.recorded and run.folder.part_of):
                continue  # a plan has no map, and its runs are opened from it
        except RunError:
            continue  # a damaged run is shown in the list, never first
        if run.recorded:
            ranked.append((2 + list(KINDS).index(run.config.kind), folder.id))
        elif PHASES[phase].active or phase == "finished":
            ranked.append((phase == "finished", folder.id))
    return min(ranked, key=lambda one: one[0], default=(0, None))[1]  # of equal ones the newest comes first


def _card(library: Library, folder: RunFolder, queue: Runs, token: str | None) -> Json:
    card: Json = {
        "id": folder.id,
        "title": f"Run {folder.id}",
        "data": "",
        "summary": "",
        "losses": [],
        **state_json(RunState(phase="failed")),
        **phase_json("damaged", DAMAGED),
        "recorded": folder.read_only,
        "read_only": not folder.writable,
        "bytes": 0,
        "created": created(folder.id),
        "kind": "",
        "headline": [],
        "downloads": {},
        "queue_position": None,
        "part_of": folder.part_of,
        "plans": False,
        "mine": None if token is None else is_mine(folder, token),
    }
    try:
        with reading(folder.id):
            run = library.get(folder.id)
            return card | run.at_rest("card", lambda: _card_of(run, queue))
    except RunError as error:
        return card | {"error": str(error), "bytes": folder.size()}


def _card_of(run: Run, queue: Runs) -> Json:
    state = run.folder.state()
    return {
        "title": run_title(run),
        "data": data_title(run),
        "summary": summary(run),
        "losses": arm_titles(run.config),
        "kind": run.config.kind,
        "plans": kind_of(run.config).plans,
        **state_json(state, plans=kind_of(run.config).plans),
        "bytes": run.size(state.updated),
        "headline": _headline(run),
        "downloads": offered(run),
        "queue_position": position(queue, run, state.phase),
    }


def is_mine(folder: RunFolder, token: str) -> bool:
    """Whether the holder of a token started a run."""
    return not folder.read_only and folder.owner == (digest(token) or None)  # a run without an owner is nobody's


def _headline(run: Run) -> list[Json]:
    if kind_of(run.config).plans:
        return []  # its runs have numbers
    measures = kind_of(run.config).measures_of(run.config)
    newest = run.folder.newest(*measures.headline)
    return [
        {
            "key": key,
            "title": measures.describe(key).short,
            "values": [finite_number(newest.get((arm, key))) for arm in range(run.config.arms)],
        }
        for key in measures.headline
    ]
