"""Re-ranking by contextual similarity: how far the neighbourhoods of two images overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from trainers.losses.contextual import contextual_similarity
from trainers.parameters import parameter
from trainers.retrieval.reranking.base import Reranking, unit_rows


@dataclass(frozen=True, kw_only=True)
class ContextualReranking:
    """Size of a neighbourhood, its slack, and the weight of the cosine."""

    k: int = parameter(20, low=2, high=256, help="Size of a neighbourhood, the image itself counted.")
    eps: float = parameter(0.0, low=0.0, high=1.0, help="Slack of the neighbourhood's radius, squared distance.")
    lam: float = parameter(0.3, low=0.0, high=1.0, help="Weight of the cosine against the contextual similarity.")


def score(rows: np.ndarray, parameters: ContextualReranking) -> np.ndarray:
    """Return (1 - lam) w + lam s, w the contextual similarity (Liao et al. 2023, Eq. 1-4) and s the cosine.

    Eq. 1 is the step function as it is (no gradient is wanted), Eq. 2 the neighbourhoods, Eq. 3 their overlap, Eq. 4
    the expansion over mutual neighbours of half the size and the mean of both directions. It is the similarity that the
    contextual loss trains, of all these images in place of a batch.
    """
    unit, p = torch.from_numpy(unit_rows(rows)), parameters
    cosines = unit @ unit.T
    context = contextual_similarity(cosines, min(p.k, len(unit)), p.eps, 1.0)
    return ((1 - p.lam) * context[0] + p.lam * cosines[0]).numpy()


DESCRIPTOR = Reranking(
    name="contextual",
    title="Contextual similarity",
    sentence="Results first whose nearest neighbours are also the query's.",
    paper="Supervised Metric Learning to Rank for Retrieval via Contextual Similarity Optimization, Liao et al., ICML",
    year=2023,
    url="https://arxiv.org/abs/2210.01908",
    differs=(
        "The paper trains this similarity and ranks by the cosine. k, eps = 0 and the weight of the cosine, which "
        "orders the many images without a common neighbour, are ours."
    ),
    parameters=ContextualReranking,
    score=score,
    order=10,
)
