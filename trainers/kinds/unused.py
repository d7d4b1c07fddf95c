"""Settings that change nothing beside the others, each in a sentence."""

from __future__ import annotations

import contextlib

from trainers.config import DataChoice, RunConfig
from trainers.errors import UserError
from trainers.optimization.schedule import DROPS


def unused(config: RunConfig) -> list[str]:
    """List sentences on settings that somebody changed and that change nothing.

    Args:
        config: checked.
    """
    sentences = []
    if tuple(config.drops) != DROPS and (config.schedule != "step" or config.halve_every is not None):
        other = "halve_every takes its place" if config.halve_every is not None else f"it is {config.schedule}"
        sentences.append(f"Only the schedule step has drops, and {other}: drops change nothing.")
    data = getattr(config, "data", None)
    if isinstance(data, DataChoice) and data.revision is not None and not _has_revisions(data.source):
        sentences.append(f"Only datasets of the Hub have revisions: {data.revision!r} changes nothing.")
    if isinstance(data, DataChoice) and data.hierarchy != DataChoice().hierarchy and _drawn(data.source):
        sentences.append("Drawn images have superclasses of their own: hierarchy changes nothing.")
    return sentences


def _drawn(source: str) -> bool:
    from trainers.data import named

    entry = named(source)
    return entry is not None and entry.inspect is None


def _has_revisions(source: str) -> bool:
    """Return whether a source comes from the Hub, or may: what cannot be found is told of elsewhere."""
    from trainers.data import named
    from trainers.data.sources import resolve

    entry = named(source)
    if entry is not None:
        return entry.inspect is not None  # images that are drawn here have nothing to choose
    with contextlib.suppress(UserError):
        return isinstance(resolve(source), str)
    return True
