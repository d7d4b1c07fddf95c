"""The verb ``inspect``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainers.cells import counted
from trainers.cli.flags import add_flags, given
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.verb import verb
from trainers.config import DataChoice
from trainers.errors import ParameterError
from trainers.parameters import check_all

_SHOWN = 8

if TYPE_CHECKING:
    from trainers.data import DataReport


def _equip(parser: argparse.ArgumentParser) -> None:
    told = "A dataset of the catalogue, a folder, a zip file or a Hub id; --data names it too."
    parser.add_argument("source", metavar="DATA", nargs="?", help=told)
    json_flag(parser)
    add_flags(parser, DataChoice)


@verb("inspect", _equip)
def inspect(arguments: argparse.Namespace) -> int:
    """Show what a dataset holds and how it would be read."""
    from trainers.data import inspect_data

    choice = _choice(arguments)
    check_all(choice, "The images")
    report = inspect_data(choice)
    if arguments.json:
        print_json(dataclasses.asdict(report))
    else:
        print("\n".join(_lines(report)))
    for problem in report.problems:
        print(f"rankscope: {problem}", file=sys.stderr)
    return int(bool(report.problems))


def _choice(arguments: argparse.Namespace) -> DataChoice:
    """Return what is looked at, which is named as the first argument or by ``--data``.

    Raises:
        ParameterError: it is named by both, or by neither.
    """
    chosen = given(arguments, DataChoice)
    sources = [source for source in (arguments.source, chosen.get("source")) if source is not None]
    if len(sources) != 1:
        got = "none" if not sources else f"{sources[0]!r:.60} and {sources[1]!r:.60}"
        raise ParameterError(f"One dataset was needed, as in `inspect path/to/folder`; got {got}.")
    return DataChoice(**(chosen | {"source": sources[0]}))


def _lines(report: DataReport) -> Iterator[str]:
    """Write what there is as a line each, and the columns that could be labels as a table."""
    yield f"{report.title}, licence {report.licence}"
    splits = [name if size is None else f"{name} ({counted(size, 'image')})" for name, size in report.splits.items()]
    if splits:
        yield f"splits: {', '.join(splits)}{'; only their first rows were read' if report.sampled else ''}"
    if report.unreadable:
        yield report.unreadable
    if report.image_columns:
        yield f"image columns: {', '.join(report.image_columns)}"
    if report.labels:
        rows = [
            (
                column.name,
                f"{column.classes:,}" if column.kind != "other" else "",
                ", ".join(map(str, column.examples)) if column.usable else f"not usable: {column.reason}",
            )
            for column in report.labels
        ]
        yield Table(columns=("label", "classes", "examples"), rows=rows).text()
    if len(report.levels) > 1 or (report.levels and not report.labels):
        yield from _tree(report)
    if report.proposal is not None:
        yield from _proposal(report.proposal)
    yield from report.notes


def _tree(report: DataReport) -> Iterator[str]:
    """Write the levels with their numbers of classes, and some classes of each of the first superclasses."""
    levels = [f"{name} ({count:,})" for name, count in zip(report.levels, report.counts, strict=True)]
    yield f"tree, finest first: {', '.join(levels)}"
    groups: dict[str, list[str]] = {}
    for name, *above in report.classes:
        groups.setdefault(" < ".join(above), []).append(name)
    for group, names in list(groups.items())[:_SHOWN]:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield f"  {group + ': ' if group else ''}{', '.join(names[:_SHOWN])}{more}"


def _proposal(used: DataChoice) -> Iterator[str]:
    if used.label_columns:
        yield f"labels, finest first: {', '.join(used.label_columns)}"
    parts = [f"{part} on {name}" for part, name in (("train", used.train_split), ("test", used.test_split)) if name]
    if parts:
        yield ", ".join(parts)
