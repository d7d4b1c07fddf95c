"""Chooses the snapshot that gets the next frame."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Sequence

MOST_FRAMES = 60  # of a run that is drawn after it has ended
LATE = 2  # snapshots that may wait before the live map skips to the newest


def thin(ks: Sequence[int], most: int = MOST_FRAMES) -> list[int]:
    """Choose at most ``most`` (2 or more) of ``ks``, evenly spaced, always with the first and the last."""
    if len(ks) <= most:
        return list(ks)
    return [ks[round(i * (len(ks) - 1) / (most - 1))] for i in range(most)]


def next_snapshot(ks: Sequence[int], last: int | None, *, live: bool) -> int | None:
    """Choose the snapshot beyond the newest frame to lay out now; None: none.

    A run begins with its first snapshot, where all arms are still equal. While it trains, its map stays with the
    present: a layout that falls behind skips. After training the rest is laid out thinned; what was skipped is
    :func:`missing`.

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


def missing(ks: Sequence[int], drawn: Collection[int], most: int = MOST_FRAMES) -> list[int]:
    """Return the skipped snapshots before the newest frame that are drawn later, oldest first.

    They are those of ``thin(ks, most)`` that have no frame within half the distance between two of them.

    Args:
        ks: versions of the snapshots, rising.
        drawn: versions that have a frame.
    """
    indices = [index for index, k in enumerate(ks) if k in drawn]
    if not indices:
        return []
    reach = max(1.0, (len(ks) - 1) / (most - 1)) / 2
    wanted = {k: index for index, k in enumerate(ks)}
    missing = []
    for k in thin(ks, most):
        index = wanted[k]
        right = bisect.bisect_left(indices, index)
        if right < len(indices) and min(abs(index - near) for near in indices[max(right - 1, 0) : right + 1]) >= reach:
            missing.append(k)
    return missing
