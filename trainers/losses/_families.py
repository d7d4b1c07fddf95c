"""Losses by family."""

from __future__ import annotations

from collections.abc import Mapping

from trainers.losses.base import LossDescriptor


def by_family(losses: Mapping[str, LossDescriptor]) -> dict[str, list[LossDescriptor]]:
    """Family to its losses, both in their order; aliases are left out.

    Args:
        losses: in order, as ``LOSSES`` is.
    """
    found: dict[str, list[LossDescriptor]] = {}
    for loss in losses.values():
        if loss.alias_of is None:
            found.setdefault(loss.family, []).append(loss)
    return found
