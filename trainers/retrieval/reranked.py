"""The metrics of a set before and after re-ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import columns
from trainers.errors import UserError
from trainers.metrics import evaluate
from trainers.metrics.blocks import ranked_by
from trainers.metrics.names import parse_all
from trainers.metrics.scores import score_blocks
from trainers.retrieval.reranking import Reranking

METRICS = ("R_at_1", "AP", "HAP", "NDCG")


@dataclass(frozen=True, kw_only=True)
class Reranked:
    """Means over the queries by metric, as :func:`trainers.metrics.evaluate` gives them, by cosine and re-ranked."""

    before: dict[str, float]
    after: dict[str, float]


def reranked(
    embeddings: Tensor,
    labels: Tensor,
    reranking: Reranking,
    parameters: Any = None,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    metrics: Sequence[str] = METRICS,
) -> Reranked:
    """Score a set by cosine and after re-ranking the whole list of every query.

    Neighbours are sought among the gallery and the queries together, as in the papers' protocols.

    Args:
        embeddings: ``[Q, D]`` floating, on the CPU.
        labels: ``[Q, L]`` integers, finest first.
        parameters: of the re-ranking; None: its defaults.
        gallery, gallery_labels: ``[G, D]`` and ``[G, L]``; None: each query is searched among the others.
        metrics: names of the catalogue.

    Raises:
        UserError: a metric is unknown, values are not finite, or the images are too alike to have neighbourhoods.
    """
    before: Any = evaluate(embeddings, labels, gallery, gallery_labels, metrics)
    left_out = np.arange(len(embeddings)) if gallery is None else None
    if gallery is None or gallery_labels is None:
        gallery, gallery_labels, rows = embeddings, labels, embeddings
    else:
        rows = torch.cat([gallery, embeddings])
    if not len(rows):
        raise UserError("Re-ranking needs images; got none.")
    first, last = len(rows) - len(embeddings), len(gallery)
    scores = reranking.scores(rows.numpy(), parameters)

    def block(part: slice) -> Tensor:
        return torch.from_numpy(scores(slice(first + part.start, first + part.stop))[:, :last])

    asked, known = columns(labels), columns(gallery_labels)
    blocks = ranked_by(block, asked, known, left_out, device=torch.device("cpu"))
    after: Any = score_blocks(blocks, parse_all(metrics, asked.shape[1])).means(asked.shape[1])
    return Reranked(before=before, after=after)
