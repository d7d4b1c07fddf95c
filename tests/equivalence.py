"""Equivalence classes of entries: the first of each class is tested always, the others together in one long test."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pytest

from trainers.losses import LOSSES

DRAWING = {"triplet_distance_weighted", "recall_at_k_patel"}
"""Losses that draw random numbers."""


def divided(entries: Iterable[str], shape: Callable[[str], Hashable]) -> tuple[list[str], list[str]]:
    """The first entry of each class, and the others."""
    names, first = list(entries), {}
    for name in names:
        first.setdefault(shape(name), name)
    return list(first.values()), [name for name in names if name not in first.values()]


def of_each(entries: Iterable[str], shape: Callable[[str], Hashable]) -> Callable[[Callable[..., None]], Any]:
    """Test the ``name`` of the first entry of each class by itself; the others are one long test."""
    return always("name", *divided(entries, shape))


def always(
    argument: str, first: Sequence[Any], others: Sequence[Any], title: Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Any]:
    """Test some entries each by itself, and the others in one long test, which goes through all and names what failed.

    Args:
        argument: what a test calls its entry.
        title: of an entry.
    """
    groups = [[entry] for entry in first] + [list(others)]
    marks = [()] * len(first) + [(pytest.mark.long, pytest.mark.timeout(1800))]
    ids = [*map(title, first), f"{len(others)} others"]

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def check(**given: Any) -> None:
            failed = []
            for entry in given.pop(argument):
                try:
                    test(**{argument: entry}, **given)
                except Exception as error:
                    error.add_note(f"{argument}: {title(entry)}")
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise ExceptionGroup(f"{len(failed)} failed: {[error.__notes__[-1] for error in failed]}", failed)

        params = [pytest.param(group, marks=mark, id=id) for group, mark, id in zip(groups, marks, ids, strict=True)]
        return pytest.mark.parametrize(argument, params)(check)

    return decorate


def loop_shape(name: str) -> Hashable:
    """What a training loop, a memory and a checkpoint see of a loss."""
    loss = LOSSES[name]
    parts = (loss.views, loss.proxies, loss.level_proxies, loss.hierarchy, loss.gallery, bool(loss.memory))
    return (*parts, name in DRAWING)
