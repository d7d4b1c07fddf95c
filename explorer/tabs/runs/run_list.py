"""The list of runs as plain values."""

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
    phase_json,
    position,
    progress_json,
    state_json,
    with_lacking,
)
from explorer.server.titles import data_title, run_title, summary
from explorer.server.visitors import Caller
from trainers.cells import csv_text, finite_number
from trainers.errors import RunError
from trainers.kinds import arm_titles, kind_of
from trainers.plans.base import plan_of
from trainers.plans.children import Children, lacking_among
from trainers.plans.config import MOST_SEEDS, sweep_of
from trainers.plans.report import results_of, results_table
from trainers.retrieval.untrained.words import untrained_json
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.label import read_label
from trainers.runs.records import RunState

if TYPE_CHECKING:
    from explorer.server.runs import Runs


def runs(library: Library, runs: Runs) -> list[Json]:
    """List every run, newest first, recordings last; a damaged one says so and hides no other."""
    cards = [_card(library, folder, runs) for folder in library.folders()]
    members: dict[str, list[str]] = {}
    for card in cards:
        members.setdefault(card["part_of"], []).append(card["phase"])
    return [_of_plan(card, members.get(card["id"], [])) if card["plans"] else card for card in cards]


def one_run(library: Library, runs: Runs, run_id: str, token: str, caller: Caller) -> Json | None:
    """Describe one run as the list does, and whether it is the visitor's to change; None: there is none of this id."""
    folders = library.folders()
    folder = next((folder for folder in folders if folder.id == run_id), None)
    if folder is None:
        return None
    card = _card(library, folder, runs) | {"mine": folder.writable and runs.is_of(folder, token, caller)}
    if not card["plans"]:
        return card if card["damaged"] else card | {"untrained": _untrained(folder)}
    parts = [_card(library, each, runs) for each in folders if each.part_of == run_id]
    return _of_plan(card, [part["phase"] for part in parts]) | {"members": len(parts)}


def _untrained(folder: RunFolder) -> Json:
    """Return what the images of a run show without training, and what that says of it; nothing where it is damaged."""
    try:
        with reading(folder.id):
            return untrained_json(folder)
    except RunError:
        return {"rows": [], "findings": []}


def runs_csv(listed: list[Json]) -> str:
    """Write the list as CSV, a line per loss of every run, and of a sweep per row of its table."""
    keys = list(dict.fromkeys(key for run in listed for key in run["numbers"]))
    spread = [
        key for key in keys if any(line["spread"].get(key) is not None for run in listed for line in run["lines"])
    ]
    head = ["id", "part of", "name", "title", "kind", "data", "state", "steps", "seconds", "tags", "note", "arm", *keys]
    rows = []
    for run in listed:
        about = [run["id"], run["part_of"], run["name"], run["title"], run["kind"], run["data"], run["phase"]]
        about += [run["step"], run["seconds"], ", ".join(run["tags"]), run["note"]]
        for line in run["lines"] or [{"title": "", "values": {}, "spread": {}}]:
            numbers = [line["values"].get(key) for key in keys] + [line["spread"].get(key) for key in spread]
            rows.append([*about, line["title"], *("" if number is None else number for number in numbers)])
    return csv_text([*head, *(f"{key} ±" for key in spread)], rows)


def _card(library: Library, folder: RunFolder, runs: Runs) -> Json:
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
        "numbers": {},
        "lines": [],
        "members": 0,
        "seeds_left": 0,
        "downloads": {},
        "queue_position": None,
        "part_of": folder.part_of,
        "plans": False,
        "kept": None if (kept := runs.kept(folder)) is None else asdict(kept),
        **asdict(read_label(folder.path)),
    }
    try:
        with reading(folder.id):
            run = library.get(folder.id)
            return card | run.at_rest("card", lambda: _card_of(run, runs))
    except RunError as error:
        return card | {"error": str(error), "bytes": folder.size()}


def _of_plan(card: Json, phases: list[str]) -> Json:
    """Add to the card of a plan what its runs, whose phases are given, have no result of."""
    lost = lacking_among(card["phase"], phases, card["planned_steps"])
    return with_lacking(card, lost) | {"members": len(phases)}


def _card_of(run: Run, runs: Runs) -> Json:
    state = run.folder.state()
    plans = kind_of(run.config).plans
    lines = _lines_of_plan(run) if plans else _lines(run)
    known = {key for line in lines for key, value in line["values"].items() if value is not None}
    measures = kind_of(run.config.single).measures_of(run.config.single)
    told = {key: measures.describe(key) for key in kind_of(run.config.single).headline(run.config.single)}
    return {
        "title": run_title(run),
        "data": data_title(run),
        "summary": summary(run),
        "losses": arm_titles(run.config),
        "kind": run.config.kind,
        "plans": plans,
        **state_json(run.folder, state, run.config),
        "bytes": run.size(state.updated),
        "numbers": {
            key: {"title": one.short, "better": one.measure.better} for key, one in told.items() if key in known
        },
        "lines": lines,
        "seeds_left": MOST_SEEDS - len(sweep_of(run.config).seeds) if plans else 0,
        "downloads": offered(run),
        "queue_position": position(runs, run, state.phase),
    }


def _lines(run: Run) -> list[Json]:
    """Return the newest headline numbers of every loss."""
    keys = kind_of(run.config).headline(run.config)
    newest = run.folder.newest(*keys) if keys else {}
    return [
        {"title": title, "values": {key: finite_number(newest.get((arm, key))) for key in keys}, "spread": {}}
        for arm, title in enumerate(arm_titles(run.config))
    ]


def _lines_of_plan(run: Run) -> list[Json]:
    """Return means and standard deviations over seeds of every loss, under every condition."""
    single = run.config.single
    try:
        cells = results_of(run.folder, Children(run.folder).all(), with_queries=False)
    except RunError:  # one of its runs is damaged, which its own line says
        cells = []
    measures = plan_of(sweep_of(run.config)).measures_of(sweep_of(run.config))
    table = results_table(cells, measures, (), only=kind_of(single).headline(single)) if cells else None
    if table is None:
        return [{"title": title, "values": {}, "spread": {}} for title in arm_titles(run.config)]
    return [
        {
            "title": ", ".join(
                [row["variant"], *(f"{name} {_short(value)}" for name, value in row["condition"].items())]
            ),
            "values": {key: cell["mean"] for key, cell in row["cells"].items()},
            "spread": {key: cell["spread"] for key, cell in row["cells"].items()},
        }
        for row in table.json()["rows"]
    ]


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
