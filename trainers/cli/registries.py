"""The verbs that list the registries: losses, metrics, models, encoders, augmentations, and those of the kinds."""

from __future__ import annotations

import argparse
from typing import Any

from trainers.kinds import KINDS
from trainers.parameters import Rule, describe, specs


def add(verbs: Any) -> None:
    """Add the verbs."""
    for verb, show, what in (
        ("losses", _losses, "List the losses and their parameters."),
        ("metrics", _metrics, "List the numbers a run can be scored by."),
        ("models", _models, "List the image-text models and their parameters."),
        ("encoders", _encoders, "List the encoders and their parameters."),
        ("augmentations", _augmentations, "List the augmentations and their parameters."),
    ):
        parser = verbs.add_parser(verb, help=what)
        parser.set_defaults(run=_print, show=show, verb=verb, markdown=False)
        if show is not _encoders:
            parser.add_argument("--markdown", action="store_true", help="as the documentation's table")
    for kind in KINDS.values():
        for verb, registry in kind.lists.items():
            if verb in verbs.choices:
                continue
            parser = verbs.add_parser(verb, help=f"List the {verb} of {kind.title.lower()} and their parameters.")
            parser.set_defaults(run=_print_entries, entries=Rule(help="", registry=registry).entries)
            parser.add_argument("--markdown", action="store_true", help="as the documentation's table")


def _print(arguments: argparse.Namespace) -> int:
    if arguments.markdown:
        from trainers.cli.readme_tables import TABLES

        print(TABLES[arguments.verb]())
    else:
        arguments.show()
    return 0


def _print_entries(arguments: argparse.Namespace) -> int:
    if arguments.markdown:
        from trainers.cli.readme_tables import entries_table

        print(entries_table(arguments.entries()))
    else:
        for descriptor in arguments.entries().values():
            _describe(descriptor, f"{descriptor.title}. {descriptor.paper}")
    return 0


def _losses() -> None:
    from trainers.losses import FAMILIES

    for family, losses in FAMILIES.items():
        print(f"\n{family}\n{'-' * len(family)}")
        for descriptor in losses:
            _describe(descriptor, f"{descriptor.title}. {descriptor.paper} {descriptor.year}")


def _metrics() -> None:
    from trainers.metrics import PUBLISHED

    for metric in PUBLISHED.values():
        print(f"{metric.name}: {metric.title}. {metric.paper}\n  {metric.sentence}")


def _models() -> None:
    from trainers.image_text.models import MODELS

    for descriptor in MODELS.values():
        reason = descriptor.lacking()
        _describe(descriptor, f"{descriptor.title}. {descriptor.paper}" + (f"\n  {reason}" if reason else ""))


def _encoders() -> None:
    from trainers.encoders import ENCODERS

    for descriptor in ENCODERS.values():
        _describe(descriptor, descriptor.title)


def _augmentations() -> None:
    from trainers.training.augmentations import AUGMENTATIONS

    for descriptor in AUGMENTATIONS.values():
        _describe(descriptor, f"{descriptor.title}. {descriptor.paper}")


def _describe(descriptor: Any, heading: str) -> None:
    print(f"{descriptor.name}: {heading}\n  {descriptor.sentence}")
    for text in (getattr(descriptor, "slow", ""), getattr(descriptor, "differs", "")):
        if text:
            print(f"  {text}")
    for spec in specs(descriptor.parameters):
        print(f"    {spec.name} = {spec.default}  ({describe(spec)})  {spec.rule.help}")
