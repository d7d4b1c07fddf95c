"""Which snapshot gets the next frame."""

from __future__ import annotations

from collections.abc import Sequence

MOST_FRAMES = 60  # of a run that is drawn after it has ended
LATE = 2  # snapshots that may wait before the live map skips to the newest


def thin(ks: Sequence[int], most: int = MOST_FRAMES) -> list[int]:
    """At most ``most`` (2 or more) of ``ks``, evenly spaced, always with the first and the last."""
    if len(ks) <= most:
        return list(ks)
    return [ks[round(i * (len(ks) - 1) / (most - 1))] for i in range(most)]


def next_snapshot(ks: Sequence[int], last: int | None, *, live: bool) -> int | None:
    """The snapshot to lay out now, or None.

    A run begins with its first snapshot, where all arms are still equal. While it trains, its map stays with the
    present: a layout that falls behind skips. After training, what is missing is filled in, thinned.

    Args:
        ks: versions of the snapshots, rising.
        last: version of the newest frame; None before the first.
        live: whether the run is training.
    """
    if last is None:
        return ks[0] if ks else None
    waiting = [k for k in (ks if live else thin(ks)) if k > last]
    if not waiting:
        return None
    return waiting[-1] if live and len(waiting) > LATE else waiting[0]
