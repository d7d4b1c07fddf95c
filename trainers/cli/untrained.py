"""The verb that scores the images of a run without training."""

from __future__ import annotations

import argparse

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json, progress_bar
from trainers.cli.parser import RUN, RunNames, verb
from trainers.runs import RunFolder


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    runs_flag(parser)
    json_flag(parser)


@verb("untrained", _equip)
def untrained(arguments: argparse.Namespace) -> int:
    """Score a run's test images without training: chance, colour, pixels, and features as they are."""
    from trainers.retrieval.untrained.of_run import score_run
    from trainers.retrieval.untrained.words import untrained_json, untrained_lines

    folder = RunFolder.open(arguments.runs, arguments.id)
    with progress_bar() as tell:
        score_run(folder, tell)
    if arguments.json:
        print_json(untrained_json(folder))
        return 0
    shown = untrained_json(folder)
    for finding in shown["findings"]:
        print(f"note: {finding['sentence']}")
    print("\n".join(untrained_lines(folder)))
    return 0
