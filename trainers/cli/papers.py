"""The verbs about papers: ``claims``, with their verdicts, and ``recipe``, trainings with sources and figures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.cli.flags import ray_flag, runs_flag
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.parser import RunNames, verb
from trainers.errors import ParameterError, UserError

if TYPE_CHECKING:
    from trainers.claims.base import Claim
    from trainers.plans.config import SweepConfig
    from trainers.recipes.catalogue import Recipe
    from trainers.runs import RunFolder


def _equip_claims(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="[NAME ...]", help="Claims that are run.")
    parser.add_argument("--all", action="store_true", help="Run every claim whose data and weights are at hand.")
    parser.add_argument("--again", action="store_true", help="Train anew where finished runs are there.")
    parser.add_argument("--plan", action="store_true", help="Say what would be run and how long it takes; run nothing.")
    written = parser.add_mutually_exclusive_group()
    json_flag(written)
    for form in ("csv", "latex", "markdown"):
        written.add_argument(f"--{form}", action="store_true", help=f"Print the table as {form}.")
    where = "Folder of the results; those that ship if not given."
    parser.add_argument("--results", type=Path, help=where)
    runs_flag(parser)
    ray_flag(parser)


@verb("claims", _equip_claims)
def claims(arguments: argparse.Namespace) -> int:
    """List the claims of the papers with what came of them here; with names, run them and keep their results.

    Raises:
        UserError: a claim is unknown or cannot be run here; its recipe stands in the sentence.
    """
    from trainers.claims.catalogue import CLAIMS
    from trainers.claims.results import SHIPPED
    from trainers.parameters import entry

    folder = arguments.results or SHIPPED
    if arguments.all or arguments.names:
        some = [claim for claim in CLAIMS.values() if claim.plan is not None]
        chosen = some if arguments.all else [entry(CLAIMS, name, "claim") for name in arguments.names]
        return _run(chosen, folder, arguments)
    _show(folder, arguments)
    return 0


def _show(folder: Path, arguments: argparse.Namespace) -> None:
    from trainers.claims import tables
    from trainers.claims.catalogue import CLAIMS

    if not folder.is_dir():
        raise UserError(f"A folder of results was needed; {folder} is none. Name another one with --results.")
    results = tables.results(folder)
    if arguments.json:
        print_json([tables.as_json(claim, results[name]) for name, claim in CLAIMS.items()])
        return
    for form, write in (("csv", tables.as_csv), ("latex", tables.as_latex), ("markdown", tables.markdown)):
        if getattr(arguments, form):
            print(write(results))
            return
    rows = tables.rows(results)
    print(Table(columns=tables.HEAD, rows=rows).text())
    print(f"\n{tables.counted(row[3] for row in rows)}")


def _run(chosen: Sequence[Claim], folder: Path, arguments: argparse.Namespace) -> int:
    from trainers.claims import runs, tables
    from trainers.claims.results import prepare, read, write
    from trainers.plans.children import lacks

    for claim in chosen:
        runs.check_at_hand(claim)
    print(runs.duration(chosen, arguments.runs, folder, again=arguments.again))
    if arguments.plan:
        return 0
    prepare(folder)
    trained: list[str] = []
    for claim in chosen:
        plan = _trained(claim, arguments.runs, trained if arguments.again else None)
        result = runs.result(claim, plan)
        write(result, folder)
        if arguments.json:
            print_json(tables.as_json(claim, read(claim, folder)))
        else:
            print(f"{claim.name}: {tables.words(claim, result)}\n  runs of {plan.id} in {plan.path.parent}", flush=True)
            if lost := lacks(plan):
                print(f"  {lost}; python -m trainers resume {plan.id} trains them on, then run the claim again")
    return 0


def _trained(claim: Claim, root: Path, fresh: list[str] | None) -> Any:
    """Return the finished plan of a claim, trained on from where it is; ``fresh``: ids of the plans made in this call,
    None: any finished one is taken.
    """
    from trainers.claims import runs
    from trainers.cli.work import train_to_end
    from trainers.kinds import check

    start = ""
    for make in runs.steps(claim):
        config = make() if not start else make().changed(start=start)
        plan = runs.with_settings(config, root)
        if plan is not None and fresh is not None and plan.id not in fresh:
            plan = None
        if plan is None:
            check(config)
            plan = runs.begin(claim, config, root)
            if fresh is not None:
                fresh.append(plan.id)
        elif plan.state().phase != "finished":
            known, built = runs.began(plan)
            begun = f"commit {known}" if known else built or "a program that is not known"
            print(f"{claim.name}: goes on with {plan.id}, begun by {begun}; --again trains it anew.")
        if plan.state().phase != "finished":
            train_to_end(plan)
        start = plan.id
    return plan


def _equip_recipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="[NAME]", help="The recipe that is meant.")
    parser.add_argument("--run", dest="train", action="store_true", help="Train it; otherwise it is printed.")
    parser.add_argument("--data", metavar="PATH", help="Images in place of the recipe's source, in the same layout.")
    parser.add_argument(
        "--of", metavar="RUN", action=RunNames, help="Train nothing: print the numbers of this finished run of it."
    )
    json_flag(parser)
    runs_flag(parser)


@verb("recipe", _equip_recipe)
def recipe(arguments: argparse.Namespace) -> int:
    """List the papers' training recipes; with a name, print one or train it, and print its numbers beside the paper's.

    Raises:
        UserError: there is no such recipe, or its images are not given.
    """
    from trainers.parameters import entry
    from trainers.recipes.catalogue import RECIPES

    if arguments.name is None:
        if arguments.train or arguments.data or arguments.of:
            raise ParameterError("Which recipe is meant is not given. `python -m trainers recipe` lists them.")
        _list(list(RECIPES.values()), arguments.json)
        return 0
    chosen = entry(RECIPES, arguments.name, "recipe")
    if arguments.of:
        _compare(chosen, arguments)
    elif arguments.train:
        _train(chosen, arguments)
    else:
        _print(chosen, arguments)
    return 0


def _list(recipes: list[Recipe], as_json: bool) -> None:
    from trainers.recipes import printed

    if as_json:
        print_json([printed.as_json(each) for each in recipes])
    else:
        print(Table(columns=printed.HEAD, rows=printed.rows(recipes)).text())


def _print(chosen: Recipe, arguments: argparse.Namespace) -> None:
    from trainers.recipes import printed
    from trainers.recipes.command import command

    if arguments.json:
        print_json(printed.as_json(chosen, arguments.data))
        return
    print(f"{chosen.title} ({chosen.paper})\n{chosen.sentence}\n")
    print(f"Images: {chosen.dataset.title}, {chosen.dataset.source}. {chosen.dataset.layout}\n")
    settings = Table(columns=("setting", "value", "source"), rows=printed.settings_rows(chosen))
    print(f"{settings.text()}\n{printed.DEFAULTS}\n")
    figures = Table(columns=("arm", "row", "metric", "printed", "where"), rows=printed.figures_rows(chosen))
    print(figures.text() if chosen.figures else printed.NO_FIGURES)
    for sentence in chosen.differs:
        print(f"- {sentence}")
    print(f"\n{command(chosen, arguments.data)}")


def _train(chosen: Recipe, arguments: argparse.Namespace) -> None:
    """Train the sweep of a recipe as every other one, and print what came of it."""
    from trainers.cli.start import created
    from trainers.cli.work import train_to_end

    if not (arguments.data or chosen.dataset.at_hand):
        raise ParameterError(
            f"{chosen.title}: the images are needed; nothing was given. {chosen.dataset.layout} Name it with --data "
            "PATH."
        )
    folder = created(chosen.config(arguments.data), arguments.runs)
    if not arguments.json:
        print(f"run {folder.id} in {folder.path}", flush=True)
    train_to_end(folder)
    _tell(chosen, folder, as_json=arguments.json)


def _compare(chosen: Recipe, arguments: argparse.Namespace) -> None:
    """Print the numbers of a finished run of a recipe."""
    from trainers.plans.config import SweepConfig, sweep_of
    from trainers.runs import RunFolder

    folder = RunFolder.open(arguments.runs, arguments.of)
    if not isinstance(folder.config, SweepConfig):
        raise ParameterError(
            f"A sweep of the recipe {chosen.name} was needed; {folder.id} is a single run. `python -m trainers recipe "
            f"{chosen.name} --run` trains one, and `python -m trainers list` lists the runs."
        )
    config, wanted = sweep_of(folder.config), chosen.config()
    if _arms(config) != _arms(wanted) or config.vary:
        raise ParameterError(
            f"A run of the recipe {chosen.name} was needed, of {chosen.of.compares} {', '.join(_arms(wanted))}; "
            f"{folder.id} has {', '.join(_arms(config))}{' and varies other settings' if config.vary else ''}. "
            "`python -m trainers list` lists the runs."
        )
    _tell(chosen, folder, as_json=arguments.json)


def _arms(config: SweepConfig) -> list[str]:
    """Name the kind of each arm; fine-tunings have no names for theirs."""
    from trainers.kinds import kind_of

    kind = kind_of(config.run)
    return [getattr(arm, "name", kind.name) for arm in getattr(config.run, kind.compares)]


def _tell(chosen: Recipe, folder: RunFolder, *, as_json: bool) -> None:
    """Print which settings are not the recipe's, and the numbers of the runs beside the printed ones."""
    from trainers.plans.config import sweep_of
    from trainers.recipes import printed

    rows, changed = printed.beside_rows(chosen, folder), printed.differences(chosen, sweep_of(folder.config))
    if as_json:
        named = [dict(zip(printed.BESIDE_HEAD, row, strict=True)) for row in rows]
        print_json({"recipe": chosen.name, "run": folder.id, "differs": changed, "numbers": named})
        return
    if changed:
        print("\n".join(["Not as in the recipe:", *(f"  {line}" for line in changed), ""]))
    print(Table(columns=printed.BESIDE_HEAD, rows=rows).text())
    if not chosen.figures:
        print(printed.NO_FIGURES)
