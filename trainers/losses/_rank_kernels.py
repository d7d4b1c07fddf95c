"""Compiled loops of the rank losses' sums over pairs: one query after another, without a buffer of pairs.

sig((s_j - s_i) / tau) = 1 / (1 + E_i F_j) with E_i = exp((s_i - c) / tau) and F_j = exp((c - s_j) / tau), so a pair
costs one multiplication, one addition and one division, which the compiler vectorises. The centre c is the nearest to
s_i on a grid of ``REACH`` tau to both sides; the exponent of F stops at ``limit`` tau, where the sigmoid equals 0 or 1
to below rounding. Every query writes its own rows and adds in a fixed order, so the number of threads changes no bit.

A query's gallery is ordered finest match first; ``ends`` holds where each level ends, finest first. All floating
numbers are of one type, float32 or float64. NaN stays NaN.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from trainers.losses._numba import compiled, inner

Numbers = tuple[float, ...]
Lift = tuple[float, float, float]
Inputs = tuple[ndarray, ndarray, ndarray, ndarray, ndarray]
"""The similarities ``[B, G]``; the galleries' orders ``[U, G]``; ``asking``, the queries with a positive ``[A]``; their
rows of the orders ``[A]``; ``ends`` ``[U, L + 1]``."""
Shape = tuple[Numbers, Numbers, ndarray]
"""The bound (1, start, delta, rho, offset, 1 / tau, 2 ``REACH`` tau), and what :func:`exponential` returns."""

REACH = 20.0
"""Half the distance of two centres, in tau: the largest exponent of E."""

_BLOCK = 512  # pairs added up in the working type before they go into a double
_SUMS = {"reassoc", "contract", "nsz"}  # sums may be reordered; NaN and infinity are kept


def exponential(dtype: np.dtype) -> tuple[Numbers, ndarray]:
    """Return the numbers of :func:`_powers` for a type.

    Returns:
        1 / ln 2, a number that rounds what is added to it, ln 2 in two parts, the limit of the exponent, and
        1 / n! for n = 0 to 13; then the bits of the fraction, and the bits of 1.0, as whole numbers.
    """
    single = dtype == np.float32
    bits, bias, whole = (23, 127, np.int32) if single else (52, 1023, np.int64)
    # The first part has zeros at its end: its product with a small whole number is exact.
    high = math.floor(math.log(2.0) * 2.0**10) / 2.0**10 if single else math.floor(math.log(2.0) * 2.0**32) / 2.0**32
    rest = math.log(2.0) - high if single else _LN2_REST + (math.log(2.0) - high)
    numbers = (1.0 / math.log(2.0), 1.5 * 2.0**bits, high, rest, 60.0 if single else 120.0)
    series = (1.0 / math.factorial(n) for n in range(14))
    return tuple(dtype.type(number) for number in (*numbers, *series)), np.array([bits, bias << bits], dtype=whole)


_LN2_REST = 2.3190468138462996e-17  # ln 2 less its nearest double


@inner()
def _powers(
    scores: ndarray,
    centre: float,
    per_tau: float,
    numbers: Numbers,
    bits: ndarray,
    scratch: ndarray,
    out: ndarray,
) -> None:
    """Write exp((centre - s) / tau) for each score: 2^k times a series, k from the rounding of a sum. No reordering."""
    inverse, magic, high, rest, limit = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    c = numbers
    for j in range(len(scores)):
        x = (centre - scores[j]) * per_tau
        x = limit if x > limit else x
        x = -limit if x < -limit else x
        sum_ = x * inverse + magic
        scratch[j] = sum_
        k = sum_ - magic
        r = (x - k * high) - k * rest
        p = (((((c[18] * r + c[17]) * r + c[16]) * r + c[15]) * r + c[14]) * r + c[13]) * r + c[12]
        out[j] = ((((((p * r + c[11]) * r + c[10]) * r + c[9]) * r + c[8]) * r + c[7]) * r + c[6]) * r + c[5]
    raised = scratch.view(bits.dtype)
    for j in range(len(scores)):
        raised[j] = (raised[j] << bits[0]) + bits[1]
        out[j] *= scratch[j]


@inner(fastmath=_SUMS)
def _total(scores: ndarray, powers: ndarray, s: float, power: float, bound: Numbers) -> float:
    """Sum of the bound over the scores, seen from s."""
    one, start, delta, rho, offset = bound[0], bound[1], bound[2], bound[3], bound[4]
    zero = one - one
    total = 0.0
    for first in range(0, len(scores), _BLOCK):
        some, their = scores[first : first + _BLOCK], powers[first : first + _BLOCK]
        part = zero
        for j in range(len(some)):
            gap = some[j] - s
            near = one / (one + power * their[j])
            near += start if gap > zero else zero
            part += rho * (gap - delta) + offset if gap > delta else near
        total += part
    return total


@inner(fastmath=_SUMS)
def _pull(
    scores: ndarray, powers: ndarray, s: float, power: float, bound: Numbers, pull: float, slopes: ndarray
) -> float:
    """Add ``pull`` times the bound's slope to each score's slope; return the sum of the bound's slopes."""
    one, delta, rho, per_tau = bound[0], bound[2], bound[3], bound[5]
    total = 0.0
    for first in range(0, len(scores), _BLOCK):
        some, their = scores[first : first + _BLOCK], powers[first : first + _BLOCK]
        to = slopes[first : first + _BLOCK]
        part = one - one
        for j in range(len(some)):
            near = one / (one + power * their[j])
            slope = rho if some[j] - s > delta else near * (one - near) * per_tau
            part += slope
            to[j] += pull * slope
        total += part
    return total


@inner(fastmath=_SUMS)
def _at_least(scores: ndarray, s: float) -> int:
    """Count the scores that are s or more."""
    count = 0
    for j in range(len(scores)):
        count += 1 if scores[j] >= s else 0
    return count


@inner(fastmath=_SUMS)
def _lifted(scores: ndarray, s: float, lift: Lift) -> float:
    """Sum of the smooth step over the scores, seen from s."""
    beta, leak, gamma = lift
    total = 0.0
    for j in range(len(scores)):
        gap = scores[j] - s
        total += min(beta * gap + gamma, 1.0) if gap > 0.0 else leak * gap
    return total


@inner(fastmath=_SUMS)
def _lift_pull(scores: ndarray, s: float, lift: Lift, pull: float, slopes: ndarray) -> float:
    """Pull as :func:`_pull` does, for the smooth step."""
    beta, leak, gamma = lift
    total = 0.0
    for j in range(len(scores)):
        gap = scores[j] - s
        slope = (beta if beta * gap + gamma < 1.0 else 0.0) if gap > 0.0 else leak
        total += slope
        slopes[j] += pull * slope
    return total


@inner()
def _next_cell(cells: ndarray, after: float) -> float:
    """Return the smallest number above ``after``; infinity where there is none."""
    least: float = cells.dtype.type(np.inf)
    for i in range(len(cells)):
        if cells[i] > after and cells[i] < least:
            least = cells[i]
    return least


@inner()
def _read(similarity: ndarray, order: ndarray, positives: int, width: float, scores: ndarray, cells: ndarray) -> None:
    """Read a query's scores in its order, and the number of each positive's centre."""
    for j in range(len(order)):
        scores[j] = similarity[order[j]]
    for i in range(positives):
        cells[i] = np.rint(scores[i] / width)


@inner()
def _count(
    scores: ndarray, ends: ndarray, relevance: ndarray, smooth: bool, lift: Lift, rank: ndarray, above: ndarray
) -> None:
    """Count rank+ and H-rank of one query's positives: ties count as above, and each item counts itself."""
    depth = len(ends) - 1
    for mine in range(depth):
        for i in range(ends[mine - 1] if mine else 0, ends[mine]):
            s, ranked, weighed = scores[i], 0, 0.0
            for theirs in range(depth):
                others = scores[ends[theirs - 1] if theirs else 0 : ends[theirs]]
                weight = min(relevance[depth - mine], relevance[depth - theirs])
                higher = _at_least(others, s)
                if theirs <= mine:
                    ranked += higher
                weighed += weight * (_lifted(others, s, lift) if smooth and theirs < mine else higher)
            rank[i] = ranked if s == s else s
            above[i] = weighed


@inner()
def _write(scores: ndarray, slopes: ndarray, order: ndarray, to: ndarray) -> None:
    """Write a query's slopes in the gallery's order; NaN scores have no centre and stay NaN."""
    for j in range(len(order)):
        to[order[j]] = slopes[j] if scores[j] == scores[j] else scores[j]


@inner()
def _lift_slopes(
    scores: ndarray, ends: ndarray, relevance: ndarray, lift: Lift, lead: ndarray, slopes: ndarray
) -> None:
    """Add the slopes of the finer items counted above coarser ones."""
    depth = len(ends) - 1
    for mine in range(1, depth):
        for i in range(ends[mine - 1], ends[mine]):
            for theirs in range(mine):
                first, end = ends[theirs - 1] if theirs else 0, ends[theirs]
                weight = min(relevance[depth - mine], relevance[depth - theirs]) * lead[i]
                slopes[i] -= weight * _lift_pull(scores[first:end], scores[i], lift, weight, slopes[first:end])


@inner()
def _leave_out(item: int, order: ndarray, powers: ndarray) -> None:
    """Set an item's power to infinity, where every sigmoid is zero."""
    if item >= 0:
        for j in range(len(order)):
            if order[j] == item:
                powers[j] = np.inf


@compiled()
def sup(
    first: int,
    last: int,
    inputs: Inputs,
    relevance: ndarray,
    shape: Shape,
    step: tuple[bool, Lift],
    back: bool,
    rank: ndarray,
    above: ndarray,
    slope: ndarray,
) -> None:
    """Compute surrogate ranks and H-ranks of some queries' positives; or, with ``back``, d loss / d similarity.

    Args:
        first, last: the queries, as a range of ``asking``.
        inputs, shape: see :data:`Inputs` and :data:`Shape`.
        relevance: ``[A, L + 1]``, by level from 0.
        step: whether finer items are counted above coarser ones by a smooth step, and its beta, leak and gamma.
        back: False for the ranks, True for the slopes.
        rank, above: ``[A, P]``, written; with ``back`` d loss / d rank and d loss / d H-rank, read.
        slope: ``[B, G]``, written with ``back``, in the rows of the queries.
    """
    similarity, order, asking, row, ends = inputs
    bound, numbers, bits = shape
    smooth, lift = step
    size, depth, per_tau, width = order.shape[1], ends.shape[1] - 1, bound[5], bound[6]
    room = np.empty((5, size), similarity.dtype)
    scores, cells, powers, scratch, slopes = room[0], room[1], room[2], room[3], room[4]
    for a in range(first, last):
        mark, q, mine = ends[row[a]], asking[a], order[row[a]]
        positives, finest = mark[depth - 1], mark[0]
        _read(similarity[q], mine, positives, width, scores, cells)
        slopes[:] = 0.0
        if not back:
            _count(scores, mark, relevance[a], smooth, lift, rank[a], above[a])
        cell = _next_cell(cells[:positives], -np.inf)
        while cell < np.inf:
            centre = cell * width
            _powers(scores[finest:], centre, per_tau, numbers, bits, scratch, powers[finest:])
            level = 0
            for i in range(positives):
                while i == mark[level]:
                    level += 1
                if cells[i] != cell:
                    continue
                s, power, end = scores[i], np.exp((scores[i] - centre) * per_tau), mark[level]
                if back:
                    pull = rank[a, i]
                    slopes[i] -= pull * _pull(scores[end:], powers[end:], s, power, bound, pull, slopes[end:])
                else:
                    rank[a, i] += _total(scores[end:], powers[end:], s, power, bound)
            cell = _next_cell(cells[:positives], cell)
        if back:
            if smooth:
                _lift_slopes(scores, mark, relevance[a], lift, above[a], slopes)
            _write(scores, slopes, mine, slope[q])


@inner()
def _smooth_ranks(
    i: int,
    level: int,
    ends: ndarray,
    relevance: ndarray,
    scores: ndarray,
    powers: ndarray,
    power: float,
    bound: Numbers,
) -> tuple[float, float]:
    """Return rank and H-rank of item i, made of sigmoids alone; ``ends[level]`` is where its level ends."""
    depth = len(ends) - 1
    relevant = relevance[depth - level]
    rank, above = 1.0, 1.0 * relevant
    for theirs in range(depth + 1):
        start, end = ends[theirs - 1] if theirs else 0, ends[theirs]
        part = _total(scores[start:end], powers[start:end], scores[i], power, bound)
        rank += part
        above += min(relevant, relevance[depth - theirs]) * part
    return rank, above


@inner()
def _smooth_slopes(
    i: int,
    level: int,
    ends: ndarray,
    relevance: ndarray,
    scores: ndarray,
    powers: ndarray,
    power: float,
    bound: Numbers,
    pulls: tuple[float, float],
    slopes: ndarray,
) -> None:
    """Add the slopes through the rank and H-rank of item i, by which the loss changes as ``pulls`` say."""
    depth, one = len(ends) - 1, bound[0]
    relevant = relevance[depth - level]
    by_rank, by_above = pulls
    for theirs in range(depth + 1):
        start, end = ends[theirs - 1] if theirs else 0, ends[theirs]
        pull = one * (by_rank + min(relevant, relevance[depth - theirs]) * by_above)
        part = _pull(scores[start:end], powers[start:end], scores[i], power, bound, pull, slopes[start:end])
        slopes[i] -= pull * part


@compiled()
def smooth(
    first: int,
    last: int,
    inputs: Inputs,
    relevance: ndarray,
    shape: Shape,
    absent: ndarray,
    back: bool,
    rank: ndarray,
    above: ndarray,
    slope: ndarray,
) -> None:
    """Rank as :func:`sup` does, for ranks and H-ranks made of sigmoids alone.

    Args:
        absent: ``[A]``, the item that has no sigmoid in a query's ranks; -1: none.
        rest: as there.
    """
    similarity, order, asking, row, ends = inputs
    bound, numbers, bits = shape
    size, depth, per_tau, width = order.shape[1], ends.shape[1] - 1, bound[5], bound[6]
    room = np.empty((5, size), similarity.dtype)
    scores, cells, powers, scratch, slopes = room[0], room[1], room[2], room[3], room[4]
    for a in range(first, last):
        mark, q, mine = ends[row[a]], asking[a], order[row[a]]
        positives = mark[depth - 1]
        _read(similarity[q], mine, positives, width, scores, cells)
        slopes[:] = 0.0
        if not back:
            rank[a, :positives] = cells[:positives]  # NaN where there is no centre
        cell = _next_cell(cells[:positives], -np.inf)
        while cell < np.inf:
            centre = cell * width
            _powers(scores, centre, per_tau, numbers, bits, scratch, powers)
            _leave_out(absent[a], mine, powers)
            level = 0
            for i in range(positives):
                while i == mark[level]:
                    level += 1
                if cells[i] != cell:
                    continue
                power = np.exp((scores[i] - centre) * per_tau)
                itself, powers[i] = powers[i], np.inf  # no item is compared with itself
                if back:
                    pulls = rank[a, i], above[a, i]
                    _smooth_slopes(i, level, mark, relevance[a], scores, powers, power, bound, pulls, slopes)
                else:
                    rank[a, i], above[a, i] = _smooth_ranks(i, level, mark, relevance[a], scores, powers, power, bound)
                powers[i] = itself
            cell = _next_cell(cells[:positives], cell)
        if back:
            _write(scores, slopes, mine, slope[q])
