"""Scores of a test that is divided in queries and a gallery, see :class:`trainers.data.roles.Roles`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from trainers.data.roles import Roles
from trainers.metrics.scores import Scores, score


def score_roles(
    embeddings: Tensor,
    labels: Tensor,
    roles: Roles | None,
    metrics: Sequence[str] | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Scores:
    """Compute metrics of the queries against the gallery; without roles, of every image against all others.

    Args:
        embeddings, labels, metrics, progress: as for :func:`trainers.metrics.evaluate`, of queries and gallery
            together: ``[N, D]`` and ``[N]`` or ``[N, L]``.
        roles: of these images; None: they have none.

    Returns:
        results of all N images; those that are no queries have NaN, and are not counted.

    Raises:
        UserError: as for :func:`trainers.metrics.evaluate`.
    """
    if roles is None:
        return score(embeddings, labels, metrics=metrics, progress=progress)
    labels = torch.as_tensor(labels)
    asked, kept = torch.from_numpy(roles.queries), torch.from_numpy(roles.searched)
    apart = None
    if roles.camera is not None:
        numbers = roles.groups(labels.reshape(len(labels), -1)[:, 0].cpu().numpy())
        apart = numbers[roles.query], numbers[roles.gallery]
    found = score(
        embeddings[asked.to(embeddings.device)],
        labels[asked],
        embeddings[kept.to(embeddings.device)],
        labels[kept],
        metrics,
        apart=apart,
        progress=progress,
    )
    return Scores(
        values={name: _spread(values, roles.query, np.nan) for name, values in found.values.items()},
        finest=_spread(found.finest, roles.query, -1),
        related=_spread(found.related, roles.query, -1),
    )


def _spread(values: np.ndarray, query: np.ndarray, other: float) -> np.ndarray:
    """Return values ``[Q]`` in the rows of the queries, bool ``[N]``, and ``other`` elsewhere."""
    spread = np.full(len(query), other, values.dtype)
    spread[query] = values
    return spread
