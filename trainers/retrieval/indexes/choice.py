"""Chooses an index by the size of a gallery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trainers.errors import UserError
from trainers.parameters import entry
from trainers.retrieval.indexes.base import IndexDescriptor, Size

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """An index and one sentence that says why it was chosen."""

    descriptor: IndexDescriptor
    reason: str


def choose(entries: Mapping[str, IndexDescriptor], size: Size, name: str = AUTO) -> Chosen:
    """Choose the first index that suits a size, or the one asked for.

    Args:
        entries: the registry.
        name: of an index; ``auto``: by size.

    Raises:
        UserError: there is no such index, or it cannot be used here.
    """
    if name != AUTO:
        descriptor = entry(entries, name, "index")
        lacking = descriptor.lacking()
        if lacking is not None:
            raise UserError(lacking)
        return Chosen(descriptor=descriptor, reason="It was asked for.")
    usable = [candidate for candidate in entries.values() if candidate.lacking() is None]
    for descriptor in usable:
        reason = descriptor.suits(size)
        if reason is not None:
            return Chosen(descriptor=descriptor, reason=reason)
    exact = next(candidate for candidate in usable if candidate.exact)
    return Chosen(descriptor=exact, reason="No other index can be used here: faiss is not installed.")
