"""Equivalence classes of entries: the first of each class is tested always, the others among the long tests."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
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


def of_each(entries: Iterable[str], shape: Callable[[str], Hashable]) -> list[Any]:
    """Parameters for a test: the first entry of each class; the others are long."""
    first, others = divided(entries, shape)
    return [*first, *(pytest.param(name, marks=pytest.mark.long) for name in others)]


def loop_shape(name: str) -> Hashable:
    """What a training loop, a memory and a checkpoint see of a loss."""
    loss = LOSSES[name]
    parts = (loss.views, loss.proxies, loss.level_proxies, loss.hierarchy, loss.gallery, bool(loss.memory))
    return (*parts, name in DRAWING)
