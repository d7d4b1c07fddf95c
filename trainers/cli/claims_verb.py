"""The verb ``claims``: the claims of the papers with their verdicts; with names, runs them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.cli.flags import ray_flag, runs_flag
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.parser import verb
from trainers.errors import UserError

if TYPE_CHECKING:
    from trainers.claims.base import Claim


def _equip(parser: argparse.ArgumentParser) -> None:
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


@verb("claims", _equip)
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
    if said := tables.old(results):
        print(said)


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
        if plan is not None and plan.state().phase != "finished" and not runs.is_current(claim, plan):
            print(f"{claim.name}: the code has changed since {plan.id} was begun; it is trained anew.")
            plan = None
        if plan is None:
            check(config)
            plan = runs.begin(claim, config, root)
            if fresh is not None:
                fresh.append(plan.id)
        if plan.state().phase != "finished":
            train_to_end(plan)
        start = plan.id
    return plan
