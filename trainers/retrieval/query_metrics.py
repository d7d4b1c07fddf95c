"""Metrics of every query of a run's probe, by arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from trainers.kinds import arm_titles
from trainers.metrics.scores import score_roles
from trainers.retrieval.probe_results import labelled_probe_of, probe_embeddings, roles_of
from trainers.runs.reader import RunReader

METRICS = ("R_at_1", "AP", "HAP", "NDCG")


@dataclass(frozen=True, kw_only=True)
class ArmMetrics:
    """Metrics of the queries under one arm.

    Attributes:
        run: id; arm: from 0; title: of the arm.
        values: metric name to float64 ``[Q]``, NaN where a query has nothing to find, or an image is no query.
    """

    run: str
    arm: int
    title: str
    values: dict[str, np.ndarray]


def query_metrics(
    folder: RunReader, k: int, metrics: Sequence[str] = METRICS, points: np.ndarray | None = None
) -> list[ArmMetrics]:
    """Compute metrics of every probe image as a query against the others, or of the queries against the gallery, at
    frame ``k``; arms that diverged are left out.

    Args:
        metrics: any of :data:`trainers.metrics.METRICS`, numbers filled in.
        points: int64 ``[Q]``, the images that are queries and gallery; None: the whole probe.

    Raises:
        UserError: a metric is unknown, or the frame keeps no embeddings, or those of no arm are finite.
    """
    probe = labelled_probe_of(folder)
    labels, roles = torch.from_numpy(probe.labels).long(), roles_of(probe)
    chosen = slice(None) if points is None else torch.from_numpy(points)
    roles = roles if roles is None or points is None else roles.take(points)
    results = []
    for arm, (title, rows) in enumerate(zip(arm_titles(folder.config), probe_embeddings(folder, k), strict=True)):
        if rows is None:
            continue
        vectors = torch.from_numpy(rows)[chosen]
        values = score_roles(vectors, labels[chosen], roles, metrics).values
        results.append(ArmMetrics(run=folder.id, arm=arm, title=title, values=values))
    return results
