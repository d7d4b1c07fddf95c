"""The image that is shown first: the query about which the losses differ visibly."""

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
    frame = library.frame(run, k)
    results = np.stack([arm.neighbours[:, :RESULTS] for arm in frame.arms])
    roles = roles_of(probe)
    return most_telling(results, probe.labels, None if roles is None else roles.queries)


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
    shared = np.stack([shared_levels(labels[arm[points]], labels[points, None]) for arm in results])  # [arms, Q, R]
    depth, ranks = labels.shape[1], results.shape[2]
    counts = np.stack([(shared >= depth - level).sum(-1) for level in range(depth)])  # [L, arms, Q]
    if len(results) == 1:
        return int(points[abs(2 * counts[0, 0] - ranks).argmin()])
    means = counts.mean(-1)
    levels = np.arange(depth)
    return int(points[(counts[levels, means.argmax(1)] - counts[levels, means.argmin(1)]).max(0).argmax()])
