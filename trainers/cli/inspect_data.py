"""The verb ``inspect``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from trainers.config import DataChoice


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("inspect", help="Show what a dataset holds and how it would be read.")
    parser.add_argument("data")
    parser.set_defaults(run=inspect)


def inspect(arguments: argparse.Namespace) -> int:
    """Print the report; exit status 1 if the dataset cannot be used."""
    from trainers.data import inspect_data

    report = inspect_data(DataChoice(source=arguments.data))
    for field in dataclasses.fields(report):
        print(f"{field.name}: {getattr(report, field.name)}")
    for problem in report.problems:
        print(f"rankscope: {problem}", file=sys.stderr)
    return int(bool(report.problems))
