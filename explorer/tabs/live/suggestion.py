"""The image that is shown first, the query about which the losses differ visibly, and how they differ over all."""

from __future__ import annotations

import numpy as np

from explorer.server.library import Library
from explorer.server.run import Run
from explorer.tabs.live.neighbours import RESULTS
from trainers.errors import RunError
from trainers.hierarchy import shared_levels
from trainers.retrieval.probe_results import roles_of


def suggested(library: Library, run: Run, k: int) -> int:
    """Return the point of :func:`most_telling` for the first results at frame ``k``.

    Raises:
        RunError: no probe yet, or no frame ``k``.
    """
    probe = run.probe
    if probe is None or not len(probe.labels):
        raise RunError(f"The run {run.id} has no images yet.")
    roles = roles_of(probe)
    return most_telling(_results(library, run, k), probe.labels, None if roles is None else roles.queries)


def ahead_at(library: Library, run: Run, k: int) -> list[list[int]]:
    """Return :func:`ahead` for the first results at frame ``k``; nothing where one arm is shown, or where the test has
    queries and a gallery, of which the nearest points of a frame know nothing.

    Raises:
        RunError: no frame ``k``.
    """
    probe = run.probe
    if probe is None or len(library.frame(run, k).arms) < 2 or roles_of(probe) is not None:
        return []
    return ahead(_results(library, run, k), probe.labels)


def _results(library: Library, run: Run, k: int) -> np.ndarray:
    return np.stack(library.neighbours(run, k, RESULTS))


def most_telling(results: np.ndarray, labels: np.ndarray, queries: np.ndarray | None = None) -> int:
    """Return the query about which two arms differ most in the direction in which they differ on average.

    For every level: how many results share a class with the query in the arm that has most of them over all queries,
    less those in the arm that has fewest. Of the levels the one with the largest difference counts; of several
    queries the first. With one arm, the query whose results are half right.

    Args:
        results: integers ``[arms, P, R]``, points by rank.
        labels: integers ``[P, L]``, finest first.
        queries: int64 ``[Q]``, points to choose from; None: all.
    """
    points = np.arange(len(labels)) if queries is None else queries
    counts = _counts(results, labels, points)
    if len(results) == 1:
        return int(points[abs(2 * counts[0, 0] - results.shape[2]).argmin()])
    means = counts.mean(-1)
    levels = np.arange(labels.shape[1])
    return int(points[(counts[levels, means.argmax(1)] - counts[levels, means.argmin(1)]).max(0).argmax()])


def ahead(results: np.ndarray, labels: np.ndarray) -> list[list[int]]:
    """Count the queries on which an arm alone has the most results that share a class with the query.

    Args:
        results: integers ``[arms, P, R]``, points by rank.
        labels: integers ``[P, L]``, finest first.

    Returns:
        Of each level the queries of each arm, then those on which several arms have the most.
    """
    counts = _counts(results, labels, np.arange(len(labels)))
    most = counts == counts.max(1, keepdims=True)  # [L, arms, Q]
    alone = most & (most.sum(1, keepdims=True) == 1)
    won = alone.sum(-1)
    return [[*map(int, level), len(labels) - int(level.sum())] for level in won]


def _counts(results: np.ndarray, labels: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return integers ``[L, arms, Q]``: how many results share a class of a level with the query."""
    shared = np.stack([shared_levels(labels[arm[points]], labels[points, None]) for arm in results])  # [arms, Q, R]
    depth = labels.shape[1]
    return np.stack([(shared >= depth - level).sum(-1) for level in range(depth)])
