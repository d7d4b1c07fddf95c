"""The verbs about runs that are there: list, compare over seeds, send, rename, delete, export and push."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.cli.flags import DEFAULT, runs_flag, shown
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.parser import RUN, RunNames, verb
from trainers.config import Config
from trainers.errors import DiskFullError, ParameterError, UserError
from trainers.kinds import kind_of
from trainers.kinds.base import Kind
from trainers.parameters import specs
from trainers.progress import Progress, interval
from trainers.runs import RunFolder, list_runs
from trainers.runs.folder import created
from trainers.runs.label import read_label, write_label

if TYPE_CHECKING:
    from trainers.comparison import Cell


OBEY_SECONDS = 0.5  # at most, until a trainer that was sent a message is what it asks for
LOOK_SECONDS = interval(0.05)
_COLUMNS = ("id", "made", "phase", "steps", "what", "numbers")


def _equip_list(parser: argparse.ArgumentParser) -> None:
    runs_flag(parser)
    json_flag(parser)


@verb("list", _equip_list)
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
    from trainers.plans.children import lacking_among

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
        what = f"{name}: {what}" if (name := read_label(folder.path).name) else what
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


_SAME = ("seed", "device", "threads", "snapshot_steps", "probe_size", "metrics")
"""Settings that make no other variant: runs over seeds are paired, and the others change no training."""
FORMS = ("markdown", "latex", "csv", "pairs_csv")


def _equip_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="RUN", action=RunNames, help=f"{RUN} It is finished.")
    metrics = f"Columns of the table. [{DEFAULT}the three main ones; of CSV and JSON all]"
    parser.add_argument("--metrics", nargs="+", metavar="NAME", help=metrics)
    written = parser.add_mutually_exclusive_group()
    written.add_argument("--form", choices=FORMS, default=FORMS[0], help="Form of the table.")
    json_flag(written)
    runs_flag(parser)


@verb("compare", _equip_compare)
def compare(arguments: argparse.Namespace) -> int:
    """Compare the arms of finished runs of one kind over seeds: a table with intervals, and verdicts."""
    from trainers.metrics.names import key_of
    from trainers.plans.report import levels_of, results_table, untrained_of

    only = list(map(key_of, arguments.metrics or ()))
    folders = [RunFolder.open(arguments.runs, run) for run in dict.fromkeys(arguments.ids)]
    kind = _kind_of(folders)
    cells = list(_cells(folders, kind))
    table = results_table(cells, kind.measures_of(folders[0].config), levels_of(folders[0]), only)
    table = None if table is None else dataclasses.replace(table, untrained=tuple(untrained_of(folders[0], {})))
    if table is None:
        known = ", ".join(sorted({key for cell in cells for key in cell.metrics}))
        raise UserError(f"There is nothing to compare in {' '.join(arguments.metrics or ())}; the runs have {known}.")
    if arguments.json:
        print_json(table.json())
        return 0
    text = getattr(table.brief if arguments.form == "markdown" else table, arguments.form)()
    print(text)
    if arguments.form == "markdown" and len(table.metrics) > len(table.brief.metrics):
        print(f"\nMore with --metrics: {' '.join(metric.key for metric in table.metrics[len(table.brief.metrics) :])}")
    return 0


def _kind_of(folders: Sequence[RunFolder]) -> Kind:
    kinds = {kind_of(folder.config) for folder in folders}
    kind = kinds.pop()
    if kinds or kind.plans:
        titles = ", ".join(sorted({kind_of(folder.config).title for folder in folders}))
        raise UserError(f"Finished runs of one kind that trains were needed; got {titles}.")
    for folder in folders:
        if (phase := folder.state().phase) != "finished":
            raise UserError(f"Run {folder.id} is {phase}; finished ones were needed. Leave it out, or resume it.")
    return kind


def _cells(folders: Sequence[RunFolder], kind: Kind) -> Iterator[Cell]:
    """Yield a cell per arm and run. A variant is an arm with what else the runs do not have in common but the seed."""
    from trainers.comparison import Cell
    from trainers.plans.children import ended_with
    from trainers.plans.report import queries_of

    configs = [folder.config for folder in folders]
    arms = [getattr(config, kind.compares) for config in configs]
    every = list({shown(arm): arm for some in arms for arm in some}.values())
    all_arms: dict[str, Any] = {kind.compares: tuple(every)}
    together = dataclasses.replace(configs[0], **all_arms)
    titles = {shown(arm): view.title for arm, view in zip(every, kind.arms(together), strict=True)}
    differing = _differing(configs, kind.compares)
    for folder, compared, settings in zip(folders, arms, differing, strict=True):
        queries = queries_of(folder, len(compared))
        for index, (arm, numbers) in enumerate(zip(compared, ended_with(folder, folder.config), strict=True)):
            yield Cell(
                variant=", ".join([titles[shown(arm)], *settings]),
                condition={},
                seed=folder.config.single.seed,
                metrics=numbers,
                queries=None if queries is None else queries.of(index),
            )


def _differing(configs: Sequence[Config], arms: str) -> list[list[str]]:
    """Return the settings of each run that are not the same in all of them, in words."""
    settings = [dict(_settings(config)) for config in configs]
    differing = [
        name for name in settings[0] if name not in (*_SAME, arms) and len({values[name] for values in settings}) > 1
    ]
    return [[f"{name.replace('_', ' ')} {values[name]}" for name in differing] for values in settings]


def _settings(config: Any) -> Iterator[tuple[str, str]]:
    """Yield every setting, those of nested ones among them, as the command line writes it."""
    for spec in specs(type(config)):
        value = getattr(config, spec.name)
        if spec.nested:
            yield from ((f"{spec.name} {name}", text) for name, text in _settings(value))
        else:
            yield spec.name, shown(value)


def _equip_send(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    parser.add_argument("message", choices=("pause", "resume", "stop"), help="What to do.")
    runs_flag(parser)
    json_flag(parser)


@verb("send", _equip_send)
def send(arguments: argparse.Namespace) -> int:
    """Pause, resume or stop a run that another process trains."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    if not folder.is_alive():
        raise UserError(f"Run {folder.id} is not being trained (it is {folder.state().phase}).")
    before, end = folder.state().phase, time.monotonic() + OBEY_SECONDS
    folder.send(arguments.message)
    while (phase := folder.state().phase) == before and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
    if arguments.json:
        print_json({"id": folder.id, "phase": phase})
    else:
        print(phase)
    return 0


def _equip_delete(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="RUN", action=RunNames, help=f"{RUN} Of a sweep its runs go too.")
    parser.add_argument("--yes", action="store_true", help="Do not ask first.")
    runs_flag(parser)
    json_flag(parser)


@verb("delete", _equip_delete)
def delete(arguments: argparse.Namespace) -> int:
    """Delete runs with all that they wrote."""
    from trainers.cluster.holding import check_not_there

    runs = {run: RunFolder(arguments.runs / run) for run in dict.fromkeys(arguments.ids)}
    parts = {folder.id: folder for folder in list_runs(arguments.runs) if folder.part_of in runs}
    every = [folder for run, folder in {**parts, **runs}.items() if run in parts or run in runs]
    for folder in every:
        if not folder.path.is_dir():
            raise UserError(f"There is no run {folder.id} in {arguments.runs}.")
        if folder.is_alive():
            raise UserError(f"Run {folder.id} is being trained; `python -m trainers send {folder.id} stop` stops it.")
        check_not_there(folder)
    if not arguments.yes and not _agreed(f"Delete {', '.join(folder.id for folder in every)}?"):
        print("Nothing is deleted.")
        return 1
    for folder in every:
        folder.delete()
    if arguments.json:
        print_json({"deleted": [folder.id for folder in every]})
    else:
        print(f"deleted {len(every)} run{'s' if len(every) > 1 else ''}")
    return 0


def _agreed(question: str) -> bool:
    """Ask on a terminal.

    Raises:
        UserError: there is no terminal.
    """
    if not sys.stdin.isatty():
        raise UserError("There is no terminal to ask on. Give --yes to delete without a question.")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _equip_rename(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    parser.add_argument("name", metavar="NAME", help="What it is called from now on; empty: nothing.")
    runs_flag(parser)
    json_flag(parser)


@verb("rename", _equip_rename)
def rename(arguments: argparse.Namespace) -> int:
    """Write a name on a run, which lists and the page show; a note and tags stay."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    kept = write_label(folder.path, dataclasses.replace(read_label(folder.path), name=arguments.name))
    if arguments.json:
        print_json({"id": folder.id, "name": kept.name})
    else:
        print(f"{folder.id} is called {kept.name!r}" if kept.name else f"{folder.id} has no name")
    return 0


def _equip_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    parser.add_argument(
        "--arm", type=int, default=0, metavar="N", help="Which loss, method or recipe of the run, counted from 0."
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"File to write; one that is there is replaced, and the card beside it, which ends in .md; another .md "
        f"file of that name is not, and nothing is written. [{DEFAULT}embedding.safetensors, with --onnx "
        "embedding.onnx, with --without-head encoder.safetensors]",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--without-head", action="store_true", help="Write the encoder alone, named as its library names it."
    )
    form.add_argument("--onnx", action="store_true", help="Write ONNX; needs onnx and onnxscript.")
    runs_flag(parser)
    json_flag(parser)


@verb("export", _equip_export)
def export(arguments: argparse.Namespace) -> int:
    """Write the embedding model of a run, as it was scored, and beside it a card that says how to load it."""
    from trainers.publishing.card import write_export
    from trainers.training.encoder_file import RunEncoders

    name = "encoder.safetensors" if arguments.without_head else "embedding.safetensors"
    out: Path = arguments.out or Path("embedding.onnx" if arguments.onnx else name)
    ending = ".onnx" if arguments.onnx else ".safetensors"
    if out.suffix and out.suffix.lower() != ending:
        raise ParameterError(f"What is written here is a {ending} file; got --out {out.name}. Let it end in {ending}.")
    folder = RunFolder.open(arguments.runs, arguments.id)
    card = None
    try:
        if arguments.without_head:
            RunEncoders(folder).write(arguments.arm, out)
        else:
            card = write_export(folder, arguments.arm, out, onnx=arguments.onnx)
    except DiskFullError as error:
        raise DiskFullError(f"Free some space, then export again; {out} is not written.") from error
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror or error}.") from error
    size = out.stat().st_size
    if arguments.json:
        print_json({"path": str(out), "bytes": size, "card": None if card is None else str(card)})
    else:
        print(f"wrote {out} ({size:,} bytes){'' if card is None else f' and {card}'}")
    return 0


def _equip_push(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=f"{RUN} It may be a sweep or fair comparison.")
    parser.add_argument(
        "--to",
        required=True,
        metavar="OWNER/NAME",
        help="Repository; made if it is not there. [default: none; it is needed]",
    )
    parser.add_argument("--private", action="store_true", help="Make the repository a private one.")
    parser.add_argument(
        "--arm",
        type=int,
        default=0,
        metavar="N",
        help="Which loss, method or recipe of the run, counted from 0. [default: 0]",
    )
    runs_flag(parser)
    json_flag(parser)


@verb("push", _equip_push)
def push(arguments: argparse.Namespace) -> int:
    """Upload the model of a run to the Hub, or a sweep or fair comparison as a dataset, with a card."""
    from trainers.publishing.upload import PushTarget
    from trainers.publishing.upload import push as pushed

    folder = RunFolder.open(arguments.runs, arguments.id)
    target = PushTarget(name=arguments.to, private=arguments.private)
    done = pushed(folder, target, _lines(arguments.json), arm=arguments.arm)
    if arguments.json:
        print_json({"url": done.url, "files": list(done.files), "bytes": done.bytes})
    else:
        print(done.url)
    return 0


def _lines(silently: bool) -> Progress:
    """Return a progress function that prints each new text as a line, or nothing."""
    said: list[str] = []

    def tell(text: str, _fraction: float) -> None:
        if not silently and said[-1:] != [text]:
            said.append(text)
            print(text, flush=True)

    return tell
