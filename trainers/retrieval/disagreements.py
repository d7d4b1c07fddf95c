"""Queries on which arms differ most, of one run or of two on the same images."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trainers.retrieval.baseline import shared_images
from trainers.retrieval.probe_results import ArmMetrics, newest_embeddings, probe_of, query_metrics, roles_of
from trainers.runs.reader import RunReader


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """One query.

    Attributes:
        row: in the dataset; ``points``: in the probe of each run, the open one first.
        values: of the metric, one per arm; None where it is not defined.
        spread: the largest less the smallest.
    """

    row: int
    points: tuple[int, ...]
    values: tuple[float | None, ...]
    spread: float


@dataclass(frozen=True, kw_only=True)
class Disagreements:
    """Queries in the order of their spread, the widest first, then by row.

    Attributes:
        metric: name.
        arms: titles and runs of the arms that are compared, those of the baseline last.
        diverged: how many arms are left out, as their embeddings are not finite.
        queries: how many images are queries of every arm.
        differing: the queries whose spread is above 0.
    """

    metric: str
    arms: tuple[ArmMetrics, ...]
    diverged: int
    queries: int
    differing: tuple[Disagreement, ...]


def disagreements(
    folder: RunReader,
    k: int,
    metric: str = "AP",
    *,
    baseline: RunReader | None = None,
    baseline_k: int | None = None,
    arms: Sequence[int] | None = None,
    most: int | None = 100,
    among: Collection[int] | None = None,
) -> Disagreements:
    """Compare the arms of a run, and those of a baseline, query by query, on the images that both runs show.

    Args:
        k: frame.
        metric: any of :data:`trainers.metrics.METRICS`, numbers filled in.
        baseline: a run on the same images; ``baseline_k``: its frame, its newest one if not given.
        arms: places among the arms of the run and then of the baseline, without those that diverged; None: all.
        most: how many queries; None: all.
        among: points of the first run that are compared; None: all.

    Raises:
        UserError: the runs are not on the same images, a frame keeps no embeddings, or the metric is unknown.
    """
    probe = probe_of(folder)
    if baseline is None:
        rows, points = np.asarray(probe.rows), np.arange(len(probe.rows))[:, None]
        compared = query_metrics(folder, k, [metric])
    else:
        shared = shared_images(folder, baseline)
        rows, points = shared.rows, np.stack([shared.first, shared.second], axis=1)
        newest = newest_embeddings(baseline) if baseline_k is None else baseline_k
        compared = query_metrics(folder, k, [metric], shared.first)
        compared += query_metrics(baseline, newest, [metric], shared.second)
    trained = folder.config.arms + (0 if baseline is None else baseline.config.arms)
    diverged = trained - len(compared)
    compared = [compared[arm] for arm in (range(len(compared)) if arms is None else arms)]
    values = np.stack([arm_metrics.values[metric] for arm_metrics in compared], axis=1)
    roles = roles_of(probe)
    kept = np.ones(len(rows), bool) if roles is None else roles.query[points[:, 0]]
    if among is not None:
        kept &= np.isin(points[:, 0], list(among))
    values, rows, points = values[kept], rows[kept], points[kept]
    return Disagreements(
        metric=metric,
        arms=tuple(compared),
        diverged=diverged,
        queries=len(rows),
        differing=ordered(values, rows, points)[:most],
    )


def ordered(values: np.ndarray, rows: np.ndarray, points: np.ndarray) -> tuple[Disagreement, ...]:
    """Order the queries with a spread above 0, the widest first, equal ones by row.

    Args:
        values: float64 ``[Q, A]``, NaN where a query has nothing to find under any arm.
        rows: integers ``[Q]``, in the dataset; points: integers ``[Q, R]``, in the probes.
    """
    spread = values.max(axis=1) - values.min(axis=1)  # NaN of one arm is NaN of all: labels decide
    order = np.lexsort((rows, -spread))
    return tuple(
        Disagreement(
            row=int(rows[query]),
            points=tuple(points[query].tolist()),
            values=tuple(None if np.isnan(value) else float(value) for value in values[query]),
            spread=float(spread[query]),
        )
        for query in order
        if spread[query] > 0
    )
