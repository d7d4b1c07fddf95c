"""The verb ``recipe``: the papers' trainings with their sources and figures; run at full size or rehearsed small."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from trainers.cli.flags import runs_flag
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.parser import verb
from trainers.errors import ParameterError

if TYPE_CHECKING:
    from trainers.plans.config import SweepConfig
    from trainers.recipes.base import Recipe
    from trainers.recipes.small import Small
    from trainers.runs import RunFolder

FULL, SMALL = "full", "small"
STAND_INS = "stand_in"
"""Folder beside the runs that holds the images of the small scale."""


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="[NAME]", help="The recipe that is trained.")
    parser.add_argument(
        "--print", action="store_true", help="Print settings, sources, figures and command; no training."
    )
    parser.add_argument("--data", metavar="PATH", help="Images in place of the recipe's source, in the same layout.")
    scales = "small: a rehearsal of a minute or two on drawn images, with a small net and few steps."
    parser.add_argument("--scale", choices=(FULL, SMALL), default=FULL, help=scales)
    parser.add_argument("--of", metavar="ID", help="Train nothing: print the numbers of this finished run of it.")
    json_flag(parser)
    runs_flag(parser)


@verb("recipe", _equip)
def recipe(arguments: argparse.Namespace) -> int:
    """List the papers' training recipes; with a name, train one, and print its numbers beside the paper's.

    Raises:
        UserError: there is no such recipe, or its images are not given.
    """
    from trainers.parameters import entry
    from trainers.recipes.catalogue import RECIPES

    if arguments.name is None:
        if arguments.print or arguments.data or arguments.of or arguments.scale != FULL:
            raise ParameterError("Which recipe is meant is not given. `python -m trainers recipe` lists them.")
        _list(list(RECIPES.values()), arguments.json)
        return 0
    chosen = entry(RECIPES, arguments.name, "recipe")
    if arguments.print:
        _print(chosen, arguments)
        return 0
    if arguments.scale == SMALL and arguments.data:
        raise ParameterError("The small scale has images of its own. Leave --data out, or --scale small.")
    return _compare(chosen, arguments) if arguments.of else _train(chosen, arguments)


def _list(recipes: list[Recipe], as_json: bool) -> None:
    from trainers.recipes import tables

    if as_json:
        print_json([tables.as_json(each) for each in recipes])
    else:
        print(Table(columns=tables.HEAD, rows=tables.rows(recipes)).text())


def _print(chosen: Recipe, arguments: argparse.Namespace) -> None:
    from trainers.recipes import tables
    from trainers.recipes.command import command

    if arguments.json:
        print_json(tables.as_json(chosen, arguments.data))
        return
    print(f"{chosen.title} ({chosen.paper})\n{chosen.sentence}\n")
    print(f"Images: {chosen.dataset.title}, {chosen.dataset.source}. {chosen.dataset.layout}\n")
    settings = Table(columns=("setting", "value", "source"), rows=tables.settings_rows(chosen))
    print(f"{settings.text()}\n{tables.DEFAULTS}\n")
    figures = Table(columns=("arm", "row", "metric", "printed", "where"), rows=tables.figures_rows(chosen))
    print(figures.text() if chosen.figures else tables.NO_FIGURES)
    for sentence in chosen.differs:
        print(f"- {sentence}")
    print(f"\n{command(chosen, arguments.data)}")


def _train(chosen: Recipe, arguments: argparse.Namespace) -> int:
    """Train the sweep of a recipe as every other one, and print what came of it."""
    from trainers.cli.start import created
    from trainers.cli.work import train_to_end

    small = _small(chosen, arguments.runs) if arguments.scale == SMALL else None
    if small is None and not (arguments.data or chosen.dataset.at_hand):
        raise ParameterError(
            f"{chosen.title}: the images are needed; nothing was given. {chosen.dataset.layout} Name it with --data "
            "PATH, or rehearse with --scale small."
        )
    folder = created(chosen.config(arguments.data) if small is None else small.config, arguments.runs)
    if not arguments.json:
        print(f"run {folder.id} in {folder.path}", flush=True)
    train_to_end(folder)
    _tell(chosen, folder, small, as_json=arguments.json)
    return 0


def _compare(chosen: Recipe, arguments: argparse.Namespace) -> int:
    """Print the numbers of a finished run of a recipe."""
    from trainers.plans.config import SweepConfig, sweep_of
    from trainers.runs import RunFolder

    folder = RunFolder.open(arguments.runs, arguments.of)
    if not isinstance(folder.config, SweepConfig):
        raise ParameterError(
            f"A sweep of the recipe {chosen.name} was needed; {folder.id} is a single run. `python -m trainers recipe "
            f"{chosen.name}` trains one, and `python -m trainers list` lists the runs."
        )
    config, small = sweep_of(folder.config), _small(chosen, arguments.runs)
    rehearsed = config.to_json() == small.config.to_json()
    wanted = small.config if rehearsed else chosen.config()
    if _arms(config) != _arms(wanted) or config.vary:
        raise ParameterError(
            f"A run of the recipe {chosen.name} was needed, of {chosen.of.compares} {', '.join(_arms(wanted))}; "
            f"{folder.id} has {', '.join(_arms(config))}{' and varies other settings' if config.vary else ''}. "
            "`python -m trainers list` lists the runs."
        )
    _tell(chosen, folder, small if rehearsed else None, as_json=arguments.json)
    return 0


def _arms(config: SweepConfig) -> list[str]:
    """Name the kind of each arm; fine-tunings have no names for theirs."""
    from trainers.kinds import kind_of

    kind = kind_of(config.run)
    return [getattr(arm, "name", kind.name) for arm in getattr(config.run, kind.compares)]


def _small(chosen: Recipe, runs: Path) -> Small:
    from trainers.recipes.small import small

    return small(chosen, runs / STAND_INS)


def _tell(chosen: Recipe, folder: RunFolder, small: Small | None, *, as_json: bool) -> None:
    """Print which settings are not the recipe's, and the numbers of the runs beside the printed ones."""
    from trainers.plans.config import sweep_of
    from trainers.recipes import tables
    from trainers.recipes.differences import of_run
    from trainers.recipes.figures import beside

    numbers = beside(chosen, chosen.arms.value if small is None else small.arms, folder)
    scaled = () if small is None else small.scaled
    changed = of_run(chosen, sweep_of(folder.config)) if small is None else []
    rows = tables.beside_rows(numbers, small=small is not None)
    if as_json:
        named = [dict(zip(tables.BESIDE_HEAD, row, strict=True)) for row in rows]
        print_json(
            {"recipe": chosen.name, "run": folder.id, "scaled": list(scaled), "differs": changed, "numbers": named}
        )
        return
    for title, lines in (("Scaled for this machine:", scaled), ("Not as in the recipe:", changed)):
        if lines:
            print("\n".join([title, *(f"  {line}" for line in lines), ""]))
    print(Table(columns=tables.BESIDE_HEAD, rows=rows).text())
    if not chosen.figures:
        print(tables.NO_FIGURES)
