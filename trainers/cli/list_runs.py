"""The verb ``list``."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.verb import verb
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.runs import RunFolder, list_runs
from trainers.runs.folder import created

_COLUMNS = ("id", "made", "phase", "steps", "what", "numbers")


def _equip(parser: argparse.ArgumentParser) -> None:
    runs_flag(parser)
    json_flag(parser)


@verb("list", _equip)
def show(arguments: argparse.Namespace) -> int:
    """List the runs, newest first; those of a sweep below it.

    Raises:
        UserError: there is no such folder.
    """
    if not arguments.runs.is_dir():
        what = "is a file" if arguments.runs.exists() else "does not exist"
        raise UserError(f"A folder of runs was needed; {arguments.runs} {what}. Name it with --runs.")
    rows = list(_rows(list_runs(arguments.runs)))
    if arguments.json:
        for row in rows:
            print_json(row)
        return 0
    if not rows:
        print(f"There are no runs in {arguments.runs} yet.")
        return 0
    cells = [
        (
            "  " * bool(row["part_of"]) + row["id"],
            row["made"].replace("T", " "),
            ", ".join(filter(None, [row["phase"], row.get("lacking")])),
            row["by_stage"] or row["step"],
            row["what"],
            row["numbers"],
        )
        for row in rows
    ]
    print(Table(columns=_COLUMNS, rows=cells).text())
    return 0


def _rows(folders: Sequence[RunFolder]) -> Iterator[dict[str, Any]]:
    """Yield what is listed of every run, those of a plan after it."""
    there = {folder.id for folder in folders}
    members: dict[str, list[RunFolder]] = {}
    for folder in folders:
        members.setdefault(folder.part_of if folder.part_of in there else "", []).append(folder)
    for folder in members.get("", []):
        row = _row(folder, "")
        yield row | {"lacking": _lacking(row, members.get(folder.id, []))}
        for member in sorted(members.get(folder.id, []), key=lambda run: run.place_in_plan):
            yield _row(member, folder.id)


def _lacking(row: Mapping[str, Any], members: Sequence[RunFolder]) -> str:
    """Say how many runs of a finished plan have no result; empty for what is none."""
    phases = []
    for member in members:
        with contextlib.suppress(UserError):  # a damaged one has a row of its own
            phases.append(member.state().phase)
        member.db.close()
    if not phases:
        return ""
    from trainers.plans.lacking import lacking_among

    return lacking_among(row["phase"], phases, row["step"] or None)


def _row(folder: RunFolder, part_of: str) -> dict[str, Any]:
    made = datetime.fromtimestamp(created(folder.id)).isoformat(timespec="minutes")
    row: dict[str, Any] = {"id": folder.id, "part_of": part_of, "made": made}
    try:
        state, config = folder.state(), folder.config
        kind = kind_of(config)
        keys = kind.headline(config)
        newest = folder.newest(*keys) if keys else {}
        what = f"{folder.place_in_plan}: {kind.line(config)}" if part_of else kind.line(config)
        texts = [_number(kind.measures_of(config).describe(key).short, newest, key, config.arms) for key in keys]
        numbers = [words for words in texts if words]
        row |= {"phase": state.phase, "step": state.step, "by_stage": kind.by_stage(folder)}
        return row | {"what": what, "numbers": ", ".join(numbers)}
    except UserError as error:
        return row | {"phase": "damaged", "step": "", "by_stage": "", "what": str(error), "numbers": ""}
    finally:
        folder.db.close()


def _number(title: str, newest: Mapping[tuple[int, str], float | None], key: str, arms: int) -> str:
    """Write a number of every arm; empty where none has it."""
    values = [newest.get((arm, key)) for arm in range(arms)]
    known = ["-" if value is None else f"{value:.3f}" for value in values]
    return f"{title} {' '.join(known)}" if any(value is not None for value in values) else ""
