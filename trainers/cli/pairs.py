"""The verb ``push-pairs``: images with and without an object, as a dataset on the Hub."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from trainers.cli.flags import add_flags, given
from trainers.cli.output import json_flag
from trainers.cli.push import lines, print_pushed, target_flags
from trainers.cli.verb import verb
from trainers.parameters import check_all


def _equip(parser: argparse.ArgumentParser) -> None:
    from trainers.publishing.pairs import PairSettings

    add_flags(parser, PairSettings)
    target_flags(parser)
    json_flag(parser)


@verb("push-pairs", _equip)
def push_pairs(arguments: argparse.Namespace) -> int:
    """Upload images with and without an object to the Hub as a dataset, with captions, masks and a card."""
    from trainers.data.captioned.loader import load_chosen
    from trainers.publishing.pairs import PairSettings, write_pairs
    from trainers.publishing.push import send
    from trainers.publishing.upload import Target, check_target

    settings = PairSettings(**given(arguments, PairSettings))
    check_all(settings, "A dataset of pairs")
    target, tell = Target(name=arguments.to, private=arguments.private), lines(arguments.json)
    check_target(target)
    with tempfile.TemporaryDirectory(prefix="rankscope-") as scratch:
        dataset = load_chosen(settings.scenes, lambda *_: None)
        files = write_pairs(dataset, settings, target.name, Path(scratch), lambda *_: None)
        done = send(files, target, tell, message="Images with and without an object", kind="dataset")
    return print_pushed(done, arguments.json)
