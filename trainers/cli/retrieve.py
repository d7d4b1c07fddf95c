"""The verb ``retrieve``: the nearest images of a query in the arms of one run or several."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.cells import counted, one_line
from trainers.cli.flags import DEFAULT, SPELLING, runs_flag
from trainers.cli.output import json_flag, print_json, progress_bar, write_file
from trainers.cli.parser import RUN, RunNames, verb
from trainers.errors import UserError
from trainers.parameters import Choice, parse_choice
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.retrieval.results import ArmResult, Ranking, Removal, Retrieval


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="+", metavar="RUN", action=RunNames, help=f"{RUN} With :N its arm N; without all of them."
    )
    query = parser.add_mutually_exclusive_group(required=True)
    query.add_argument(
        "--row", type=int, metavar="N", help=f"Row of the gallery, or of --of, counted from 0. [{DEFAULT}none]"
    )
    query.add_argument(
        "--image", type=Path, metavar="FILE", help=f"Image file. [{DEFAULT}none; --row or --image is needed]"
    )
    parser.add_argument("--of", metavar=SPELLING, help=f"Gallery that --row counts in. [{DEFAULT}the one searched]")
    parser.add_argument(
        "--gallery",
        default="test",
        metavar=SPELLING,
        help="What is searched, such as probe, train or dataset:SOURCE,part=train.",
    )
    parser.add_argument("--k", type=int, default=10, metavar="N", help="Results of each arm.")
    parser.add_argument(
        "--index", metavar=SPELLING, help=f"How it is searched, such as flat or hnsw. [{DEFAULT}by size]"
    )
    parser.add_argument("--rerank", metavar=SPELLING, help="Re-ranking of the results.")
    parser.add_argument(
        "--step", type=int, metavar="N", help=f"Of the probe: the maps at or before this step. [{DEFAULT}the newest]"
    )
    gone = parser.add_mutually_exclusive_group()
    gone.add_argument("--remove", nargs="+", metavar="CLASS", help="Also search without these classes of the query.")
    gone.add_argument(
        "--region",
        action="append",
        type=_box,
        metavar="X0,Y0,X1,Y1",
        help="Also search without this part of the query, in fractions; may be given several times.",
    )
    parser.add_argument("--fill", default="telea", metavar="NAME", help="What takes the place of what is removed.")
    written = parser.add_mutually_exclusive_group()
    json_flag(written)
    written.add_argument("--csv", action="store_true", help="Print CSV.")
    parser.add_argument("--out", type=Path, metavar="FILE", help="Also write the results to a .csv or .parquet file.")
    runs_flag(parser)


@verb("retrieve", _equip)
def retrieve(arguments: argparse.Namespace) -> int:
    """Show the nearest images of a query in one run or several."""
    from trainers.retrieval.galleries import GALLERIES
    from trainers.retrieval.indexes import INDEXES
    from trainers.retrieval.reranking import RERANKINGS
    from trainers.retrieval.results import FILES, Query
    from trainers.retrieval.retriever import Retriever

    if arguments.out is not None and arguments.out.suffix[1:] not in FILES:
        raise UserError(f"A file that ends in .csv or .parquet was needed; got {arguments.out}.")
    query = Query(
        row=arguments.row,
        collection=_choice(arguments.of, GALLERIES),
        image=_content(arguments.image),
        removal=_removal(arguments),
    )
    gallery = _choice(arguments.gallery, GALLERIES)
    assert gallery is not None
    arms = [arm for written in arguments.id for arm in _arms(arguments.runs, written)]
    with progress_bar() as tell:
        answer = Retriever().retrieve(
            arms,
            query,
            gallery,
            k=arguments.k,
            index=_choice(arguments.index, INDEXES),
            rerank=_choice(arguments.rerank, RERANKINGS),
            step=arguments.step,
            progress=tell,
        )
    if arguments.json:
        print_json(answer.as_json())
    elif arguments.csv:
        print(FILES["csv"](answer).decode(), end="")
    else:
        _print(answer)
    if arguments.out is not None:
        write_file(arguments.out, FILES[arguments.out.suffix[1:]](answer))
    return 0 if any(arm.error is None for arm in answer.arms) else 1


def _box(text: str) -> tuple[float, ...]:
    """Read four fractions."""
    values = tuple(float(value) for value in text.split(","))
    if len(values) != 4:
        raise argparse.ArgumentTypeError(f"four fractions X0,Y0,X1,Y1 were needed; got {text!r}")
    return values


def _removal(arguments: argparse.Namespace) -> Removal | None:
    from trainers.object_removal.removal import Target
    from trainers.retrieval.results import Removal

    if not (arguments.remove or arguments.region):
        return None
    return Removal(target=Target.of(arguments.remove, arguments.region), fill=arguments.fill)


def _choice(text: str | None, entries: Any) -> Choice | None:
    if text is None:
        return None
    name, parameters = parse_choice(text, entries)
    return Choice(name=name, parameters=parameters)


def _arms(root: Path, written: str) -> list[Any]:
    """Return the arms that ``ID`` or ``ID:ARM`` names; of a run that cannot be read the first, which says why."""
    from trainers.retrieval.results import RunArm
    from trainers.training.start import read_start

    run, arm = read_start(written)
    folder = RunFolder(root / run)
    if ":" in written:
        return [RunArm(folder=folder, arm=arm)]
    try:
        count = folder.config.arms
    except UserError:
        count = 1
    return [RunArm(folder=folder, arm=number) for number in range(count)]


def _content(path: Path | None) -> bytes | None:
    from trainers.data.image_file import LARGEST_FILE

    if path is None:
        return None
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)  # one that is larger is refused
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def _print(answer: Retrieval) -> None:
    print(f"{answer.title}: {counted(answer.count, 'image')}, levels {', '.join(answer.levels)}")
    if answer.classes is not None:
        print(f"query: {one_line(' < '.join(answer.classes))}")
    for note in answer.notes:
        print(f"note: {note}")
    if answer.forms:
        print(f"removed: {', '.join(answer.removed) or 'a region'}, {answer.covered:.0%} of the query")
    for arm in answer.arms:
        _print_arm(arm, len(answer.levels))


def _print_arm(arm: ArmResult, depth: int) -> None:
    from trainers.object_removal.reliance.queries import TITLES

    print(f"\n{arm.run}:{arm.arm}  {arm.title}")
    if arm.error is not None or arm.final is None or arm.index is None or arm.ranking is None:
        print(f"  {arm.error}")
        return
    took = ", ".join(f"{what} {1e3 * seconds:.0f} ms" for what, seconds in arm.seconds.items() if seconds >= 5e-4)
    print(f"  step {arm.step}; {arm.index.title}: {arm.index.reason} recall@10 {arm.index.recall:.3f}; {took}")
    _print_results(arm.final, depth)
    if arm.ranking.tied and arm.reranked is None:
        print(f"  {arm.ranking.tied}")
    _print_scores("", arm.ranking)
    if arm.reranked is not None:
        _print_scores("re-ranked ", arm.reranked)
    if arm.after is not None:
        print(f"  {arm.after.error or f'without it {arm.after.stays:.0%} of the results stay'}")
        for form, ranking in arm.after.rankings.items():
            print(f"  {TITLES[form]}:")
            _print_results(ranking, depth)


def _print_results(ranking: Ranking, depth: int) -> None:
    for rank, result in enumerate(ranking.results, start=1):
        related = "-" if result.severity is None else f"{result.severity} of {depth}"
        why = "" if result.ancestor is None else f"same {result.ancestor.level_name}: {result.ancestor.name}"
        why = why or " < ".join(result.classes)
        print(f"  {rank:>4}  row {result.row:<8} {result.similarity:7.4f}  {related:<8} {one_line(why)}")


def _print_scores(what: str, ranking: Ranking) -> None:
    from trainers.metrics import describe

    if ranking.scores:
        print(f"  {what}" + "  ".join(f"{describe(key).short} {value:.4f}" for key, value in ranking.scores.items()))
