"""Compiled loops of the contextual loss over small neighbourhoods; the sums are derived in ``_contextual_lists``.

Every loop takes rows ``first`` to ``last`` and writes only what belongs to them, so that rows may be shared between
threads and the result does not depend on their number. ``near``, ``mutual`` and ``closer`` are lists of lists
(start, index), as in a compressed sparse row matrix: that of row i is ``index[start[i]:start[i + 1]]``. ``back`` lists
in whose neighbourhoods i is, with a third array: where ``near`` has that entry.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from trainers.losses._numba import compiled, inner

Lists = tuple[ndarray, ndarray]
Backward = tuple[ndarray, ndarray, ndarray]


@inner()
def _keep(value: float, best: ndarray) -> None:
    """Put a value among the largest, ascending, in place of the smallest of them, if it is larger."""
    if value > best[0]:
        at = 1
        while at < len(best) and value > best[at]:
            best[at - 1] = best[at]
            at += 1
        best[at - 1] = value


@compiled()
def survey(
    s: ndarray,
    labels: ndarray,
    k: int,
    half: int,
    numbers: tuple[float, float, float],
    radii: ndarray,
    sizes: ndarray,
    sums: ndarray,
    first: int,
    last: int,
) -> None:
    """Write radii and sizes of both neighbourhoods ``[2, n]``, the wider one first, and sums for the other two terms.

    Args:
        s: ``[n, n]`` cosines.
        k, half: how many items the two radii reach.
        numbers: slack, positive and negative margin, of the type of ``s``.
        sums: float64 ``[n, 5]``: sum and number of the positive hinges, of the negative ones, sum of the row.
    """
    slack, pos, neg = numbers
    two, zero = s.dtype.type(2), s.dtype.type(0)  # a whole number would make the compiler go to float64
    n, best = len(s), np.empty(k, s.dtype)
    for i in range(first, last):
        for slot in range(k):
            best[slot] = -np.inf
        pull, pulls, push, pushes, total = 0.0, 0, 0.0, 0, 0.0
        for j in range(n):
            value = s[i, j]
            total += value
            _keep(value, best)
            if labels[i] != labels[j]:
                if value - neg > 0:
                    push += value - neg
                    pushes += 1
            elif i != j and pos - value > 0:
                pull += pos - value
                pulls += 1
        sums[i, 0] = pull
        sums[i, 1] = pulls
        sums[i, 2] = push
        sums[i, 3] = pushes
        sums[i, 4] = total
        wide, tight = max(two - two * best[0], zero) + slack, max(two - two * best[k - half], zero) + slack
        inside, within = 0, 0
        for j in range(n):
            distance = max(two - two * s[i, j], zero)
            inside += distance <= wide
            within += distance <= tight
        radii[0, i] = wide
        radii[1, i] = tight
        sizes[0, i] = inside
        sizes[1, i] = within


@compiled()
def members(s: ndarray, radii: ndarray, start: ndarray, index: ndarray, first: int, last: int) -> None:
    """Write the lists of the items within ``radii [n]`` of each row, compared as in :func:`survey`."""
    two, zero = s.dtype.type(2), s.dtype.type(0)
    for i in range(first, last):
        at = start[i]
        for j in range(len(s)):
            if max(two - two * s[i, j], zero) <= radii[i]:
                index[at] = j
                at += 1


@compiled()
def overlaps(near: Lists, back: Backward, worth: ndarray, first: int, last: int) -> None:
    """Write W of each neighbour: ``worth``, beside ``near``'s index."""
    start, index = near
    n = len(start) - 1
    shared = np.zeros(n, np.int32)
    for i in range(first, last):
        size = start[i + 1] - start[i]
        _count(i, near, back, shared)
        for e in range(start[i], start[i + 1]):
            j = index[e]
            neither = n - size - (start[j + 1] - start[j]) + shared[j]
            worth[e] = (shared[j] / size + neither / max(n - size, 1)) / 2


@compiled()
def _count(i: int, near: Lists, back: Backward, shared: ndarray) -> None:
    """Count the neighbours that i shares with each item."""
    for j in range(len(shared)):
        shared[j] = 0
    for e in range(near[0][i], near[0][i + 1]):
        j = near[1][e]
        for b in range(back[0][j], back[0][j + 1]):
            shared[back[1][b]] += 1


@compiled()
def direct(near: Lists, back: Backward, pulls: ndarray, slope: ndarray, first: int, last: int) -> None:
    """Turn R in ``slope`` into the first term of the derivative by N; write T beside ``near``'s index in ``pulls``."""
    start, index = near
    n = len(start) - 1
    shared = np.zeros(n, np.int32)
    for i in range(first, last):
        size = start[i + 1] - start[i]
        rest = max(n - size, 1)
        each = (1 / size + 1 / rest) / 2
        for e in range(start[i], start[i + 1]):
            pulls[e] = slope[i, index[e]] * each
        _count(i, near, back, shared)
        for j in range(n):
            slope[i, j] *= shared[j] * each + (n - size - (start[j + 1] - start[j])) / (2 * rest)


@compiled()
def gather(
    s: ndarray,
    near: Lists,
    back: Backward,
    mutual: Lists,
    closer: Lists,
    worth: ndarray,
    misses: ndarray,
    by_size: ndarray,
    pulls: ndarray,
    scale: float,
    slope: ndarray,
    first: int,
    last: int,
) -> None:
    """Add the derivatives through the counts, the sizes and M; times ``scale`` they are those by the cosines."""
    start, index = near
    n = len(start) - 1
    for i in range(first, last):
        size = start[i + 1] - start[i]
        ratio, by_count = size / (size + max(n - size, 1)), 0.0
        for e in range(start[i], start[i + 1]):
            j, pull = index[e], pulls[e]
            by_count += pull * ratio
            for f in range(start[j], start[j + 1]):
                slope[i, index[f]] += pull
        for b in range(back[0][i], back[0][i + 1]):
            j, pull = back[1][b], pulls[back[2][b]]
            size = start[j + 1] - start[j]
            by_count += pull * size / (size + max(n - size, 1))
            for f in range(start[j], start[j + 1]):
                slope[i, index[f]] += pull
        for c in range(closer[0][i], closer[0][i + 1]):
            j = closer[1][c]
            there, again = 0.0, 0.0
            for e in range(start[j], start[j + 1]):
                there += misses[i, index[e]] * worth[e]
            for e in range(start[i], start[i + 1]):
                again += misses[j, index[e]] * worth[e]
            there /= mutual[0][i + 1] - mutual[0][i]
            again /= mutual[0][j + 1] - mutual[0][j]
            slope[i, j] += there + again + by_size[i] + by_size[j]
        for j in range(n):
            slope[i, j] = scale * (slope[i, j] - by_count) if 2 - 2 * s[i, j] > 0 else 0


@compiled()
def combine(
    s: ndarray,
    labels: ndarray,
    slope: ndarray,
    margins: tuple[float, float],
    weights: tuple[float, float, float, float],
    out: ndarray,
    first: int,
    last: int,
) -> None:
    """Write d loss / d s ``[n, n]``: ``slope`` and, at active hinges and everywhere, constants.

    Args:
        margins: positive and negative.
        weights: of ``slope``, of an active positive pair, of an active negative one, of any pair.
    """
    pos, neg = margins
    by_slope, by_pull, by_push, always = weights
    for i in range(first, last):
        for j in range(len(s)):
            value = by_slope * slope[i, j] + always
            if labels[i] != labels[j]:
                value += by_push * (s[i, j] - neg > 0)
            elif i != j:
                value -= by_pull * (pos - s[i, j] > 0)
            out[i, j] = value
