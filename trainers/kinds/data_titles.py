"""Titles of labelled images before they are read."""

from __future__ import annotations

from trainers.config import DataChoice
from trainers.errors import ParameterError


def titled(choice: DataChoice) -> str:
    """Return the title of labelled images before they are read, with their hard conditions."""
    return ", ".join([source_title(choice.source), *choice.conditions.words()])


def source_title(source: str) -> str:
    """Return the title of a labelled dataset of the catalogue, or the last part of a path or id."""
    from trainers.data import named

    labelled = named(source)
    try:
        return source.rstrip("/").rsplit("/", 1)[-1] if labelled is None else labelled.titled(source)
    except ParameterError:  # of another version
        return source
