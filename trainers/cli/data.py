"""The verbs about datasets: ``inspect``, and ``group`` for superclasses of classes with similar names."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trainers.cells import counted, csv_text
from trainers.cli.flags import DEFAULT, add_flags, given
from trainers.cli.output import Table, json_flag, print_json, write_file
from trainers.cli.parser import verb
from trainers.config import DataChoice
from trainers.errors import DataError, ParameterError
from trainers.parameters import check_all

if TYPE_CHECKING:
    from trainers.data import DataReport
    from trainers.image_text.class_groups import NameEncoder

_SHOWN = 8


def _equip_inspect(parser: argparse.ArgumentParser) -> None:
    _data_flags(parser)
    json_flag(parser)


@verb("inspect", _equip_inspect)
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


def _data_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="DATA", help="A dataset of the catalogue, a folder, a zip file or a Hub id.")
    add_flags(parser, DataChoice, offers=lambda name: name != "source")


def _choice(arguments: argparse.Namespace) -> DataChoice:
    return DataChoice(**given(arguments, DataChoice), source=arguments.source)


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


def _equip_group(parser: argparse.ArgumentParser) -> None:
    _data_flags(parser)
    count = f"Superclasses to make of the classes. [{DEFAULT}none; it is needed]"
    parser.add_argument("--groups", type=int, required=True, metavar="N", help=count)
    by = f"What is similar: what names mean, by a text tower, or the words they share. [{DEFAULT}meaning]"
    parser.add_argument("--by", choices=("meaning", "words"), default="meaning", help=by)
    model = f"Image-text model whose text tower is used. [{DEFAULT}clip_vit_b32, without its weights conse]"
    parser.add_argument("--tower", metavar="MODEL", help=model)
    parser.add_argument("--kmeans-seed", type=int, default=0, metavar="N", help=f"Of the clustering. [{DEFAULT}0]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="Write the table here; else it is printed.")
    json_flag(parser)


@verb("group", _equip_group)
def group(arguments: argparse.Namespace) -> int:
    """Group classes with similar names under superclasses: a table to review, for --hierarchy mapping:FILE."""
    from trainers.image_text.class_groups import class_groups

    if arguments.kmeans_seed < 0:
        raise ParameterError(f"--kmeans-seed needs a whole number of at least 0; got {arguments.kmeans_seed}.")
    level, classes = _classes(_choice(arguments))
    how = {"by": arguments.by, "seed": arguments.kmeans_seed, "encoder": _encoder(arguments.tower)}
    titles = class_groups(classes, arguments.groups, **how).titles(classes)
    levels, rows = (level, "superclass"), list(zip(classes, titles, strict=True))
    table, out = csv_text(levels, rows), arguments.out
    if out is not None:
        write_file(out, table.encode())
    if arguments.json:
        print_json({"levels": levels, "rows": rows})
    elif out is None:
        print(table, end="")
    where = "" if out is None else f" Wrote {out}: review it, then train with --hierarchy mapping:{out}."
    print(f"{len(classes):,} {level} > {len({*titles}):,} superclass.{where}", file=sys.stderr)
    return 0


def _classes(choice: DataChoice) -> tuple[str, list[str]]:
    """Return the name of the level of the classes, and the classes."""
    from trainers.data import inspect_data
    from trainers.data.labelled.report import SHOWN

    report = inspect_data(choice)
    count = report.counts[0] if report.counts else 0
    if report.problems or not 0 < count <= SHOWN:
        why = report.problems[0] if report.problems else f"{choice.source!r:.80} lists {count:,} before it is loaded."
        raise DataError(f"From 3 to {SHOWN:,} classes were needed. {why}")
    return report.levels[0], [row[0] for row in report.classes]


def _encoder(tower: str | None) -> NameEncoder:
    """Return what embeds names: the text tower of this model, ``NAME:parameter=value``; None: the usual one."""
    from trainers.image_text.class_groups import NameEncoder
    from trainers.image_text.models import MODELS
    from trainers.parameters import entry, parse_choice

    if tower is None:
        return NameEncoder()
    name, parameters = parse_choice(tower, MODELS)
    return NameEncoder(entry(MODELS, name, "model").build(parameters).eval())
