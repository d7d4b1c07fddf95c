"""The list of runs as plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from explorer.exports import offered
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.states import (
    DAMAGED,
    Json,
    created,
    is_mine,
    phase_json,
    position,
    progress_json,
    state_json,
    with_lacking,
)
from explorer.server.titles import data_title, run_title, summary
from explorer.server.visitors import NOBODY, Caller
from trainers.cells import csv_text, finite_number
from trainers.errors import RunError
from trainers.kinds import arm_titles, kind_of
from trainers.plans.children import lacking_among
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.label import read_label
from trainers.runs.records import RunState

if TYPE_CHECKING:
    from explorer.server.runs import Runs


def runs(library: Library, runs: Runs, token: str | None, caller: Caller = NOBODY) -> list[Json]:
    """List every run, newest first, recordings last; a damaged one says so and hides no other."""
    cards = [_card(library, folder, runs, is_mine(folder, token, caller)) for folder in library.folders()]
    members: dict[str, list[str]] = {}
    for card in cards:
        members.setdefault(card["part_of"], []).append(card["phase"])
    return [_of_plan(card, members.get(card["id"], [])) if card["plans"] else card for card in cards]


def runs_csv(listed: list[Json]) -> str:
    """Write the list as CSV, a line per arm of every run."""
    keys = list(dict.fromkeys(number["key"] for run in listed for number in run["headline"]))
    head = ["id", "part of", "name", "title", "kind", "data", "state", "steps", "seconds", "tags", "note", "arm", *keys]
    lines = []
    for run in listed:
        numbers = {number["key"]: number["values"] for number in run["headline"]}
        about = [run["id"], run["part_of"], run["name"], run["title"], run["kind"], run["data"], run["phase"]]
        about += [run["step"], run["seconds"], ", ".join(run["tags"]), run["note"]]
        for arm, loss in enumerate(run["losses"] or [""]):
            values = [numbers[key][arm] if key in numbers else None for key in keys]
            lines.append([*about, loss, *("" if value is None else value for value in values)])
    return csv_text(head, lines)


def _card(library: Library, folder: RunFolder, runs: Runs, mine: bool | None) -> Json:
    card: Json = {
        "id": folder.id,
        "title": f"Run {folder.id}",
        "data": "",
        "summary": "",
        "losses": [],
        **progress_json(RunState(phase="failed")),
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
        "mine": mine,
        "kept": None if (kept := runs.kept(folder)) is None else asdict(kept),
        **asdict(read_label(folder.path)),
    }
    try:
        with reading(folder.id):
            run = library.get(folder.id)
            return card | run.at_rest("card", lambda: _card_of(run, runs))
    except RunError as error:
        return card | {"error": str(error), "bytes": folder.size()}


def _of_plan(card: Json, runs: list[str]) -> Json:
    """Add to the card of a plan what its runs, whose phases are given, have no result of."""
    return with_lacking(card, lacking_among(card["phase"], runs, card["planned_steps"]))


def _card_of(run: Run, runs: Runs) -> Json:
    state = run.folder.state()
    return {
        "title": run_title(run),
        "data": data_title(run),
        "summary": summary(run),
        "losses": arm_titles(run.config),
        "kind": run.config.kind,
        "plans": kind_of(run.config).plans,
        **state_json(run.folder, state, run.config),
        "bytes": run.size(state.updated),
        "headline": _headline(run),
        "downloads": offered(run),
        "queue_position": position(runs, run, state.phase),
    }


def _headline(run: Run) -> list[Json]:
    keys = kind_of(run.config).headline(run.config)
    measures = kind_of(run.config).measures_of(run.config)
    newest = run.folder.newest(*keys) if keys else {}
    return [
        {
            "key": key,
            "title": measures.describe(key).short,
            "better": measures.describe(key).measure.better,
            "values": [finite_number(newest.get((arm, key))) for arm in range(run.config.arms)],
        }
        for key in keys
    ]
