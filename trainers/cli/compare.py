"""The verb ``compare``: finished runs over seeds, with intervals and verdicts."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trainers.cli.flags import DEFAULT, runs_flag, shown
from trainers.cli.output import json_flag, print_json
from trainers.cli.verb import verb
from trainers.config import Config
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.kinds.base import Kind
from trainers.parameters import specs
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.comparison import Cell

_SAME = ("seed", "device", "threads", "snapshot_steps", "probe_size", "metrics")
"""Settings that make no other variant: runs over seeds are paired, and the others change no training."""
FORMS = ("markdown", "latex", "csv", "pairs_csv")


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="RUN", help="Id of a finished run.")
    metrics = f"Columns of the table. [{DEFAULT}the three main ones; of CSV and JSON all]"
    parser.add_argument("--metrics", nargs="+", metavar="NAME", help=metrics)
    written = parser.add_mutually_exclusive_group()
    written.add_argument("--form", choices=FORMS, default=FORMS[0], help="Form of the table.")
    json_flag(written)
    runs_flag(parser)


@verb("compare", _equip)
def compare(arguments: argparse.Namespace) -> int:
    """Compare the arms of finished runs of one kind over seeds: a table with intervals, and verdicts."""
    from trainers.metrics.titles import key_of
    from trainers.plans.report import levels_of, results_table

    only = list(map(key_of, arguments.metrics or ()))
    folders = [RunFolder.open(arguments.runs, run) for run in dict.fromkeys(arguments.ids)]
    kind = _kind_of(folders)
    cells = list(_cells(folders, kind))
    table = results_table(cells, kind.measures_of(folders[0].config), levels_of(folders[0]), only)
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
