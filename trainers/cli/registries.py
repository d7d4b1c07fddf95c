"""The verbs that list the registries: losses, metrics, image-text models, encoders, augmentations."""

from __future__ import annotations

import argparse
from typing import Any

from trainers.parameters import describe, specs


def add(verbs: Any) -> None:
    """Add the verbs."""
    for verb, show, what in (
        ("losses", _losses, "the losses and their parameters"),
        ("metrics", _metrics, "the numbers a run can be scored by"),
        ("models", _models, "the image-text models and their parameters"),
        ("encoders", _encoders, "the encoders and their parameters"),
        ("augmentations", _augmentations, "the augmentations and their parameters"),
    ):
        parser = verbs.add_parser(verb, help=what)
        parser.set_defaults(run=show)
        if verb != "encoders":
            parser.add_argument("--markdown", action="store_true", help="as the documentation's table")


def _losses(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import losses_table
    from trainers.losses import FAMILIES

    if arguments.markdown:
        print(losses_table())
        return 0
    for family, losses in FAMILIES.items():
        print(f"\n{family}\n{'-' * len(family)}")
        for descriptor in losses:
            _describe(descriptor, f"{descriptor.title}. {descriptor.paper} {descriptor.year}")
    return 0


def _metrics(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import metrics_table
    from trainers.metrics import PUBLISHED

    if arguments.markdown:
        print(metrics_table())
        return 0
    for metric in PUBLISHED.values():
        print(f"{metric.name}: {metric.title}. {metric.paper}\n  {metric.sentence}")
    return 0


def _models(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import models_table
    from trainers.image_text.models import MODELS

    if arguments.markdown:
        print(models_table())
        return 0
    for descriptor in MODELS.values():
        reason = descriptor.lacking()
        _describe(descriptor, f"{descriptor.title}. {descriptor.paper}" + (f"\n  {reason}" if reason else ""))
    return 0


def _encoders(_arguments: argparse.Namespace) -> int:
    from trainers.encoders import ENCODERS

    for descriptor in ENCODERS.values():
        _describe(descriptor, descriptor.title)
    return 0


def _augmentations(arguments: argparse.Namespace) -> int:
    from trainers.cli.readme_tables import augmentations_table
    from trainers.training.augmentations import AUGMENTATIONS

    if arguments.markdown:
        print(augmentations_table())
        return 0
    for descriptor in AUGMENTATIONS.values():
        _describe(descriptor, f"{descriptor.title}. {descriptor.paper}")
    return 0


def _describe(descriptor: Any, heading: str) -> None:
    print(f"{descriptor.name}: {heading}\n  {descriptor.sentence}")
    for text in (getattr(descriptor, "slow", ""), getattr(descriptor, "differs", "")):
        if text:
            print(f"  {text}")
    for spec in specs(descriptor.parameters):
        print(f"    {spec.name} = {spec.default}  ({describe(spec)})  {spec.rule.help}")
