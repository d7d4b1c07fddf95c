"""Re-rankings of the results of one query, by neighbourhoods: contextual similarity, and k-reciprocal neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from trainers.losses.contextual import contextual_similarity
from trainers.metrics.checks import unit_rows
from trainers.parameters import parameter
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class Reranking(Descriptor):
    """A re-ranking.

    Attributes:
        paper, year, url: where it comes from.
        differs: what is not as in the paper.
        score: takes a query and its candidates, unit rows ``[N, D]``, the query first, and parameters; returns the
            score of every row with the query, float64 ``[N]`` from -1 to 1, the best the highest.
    """

    paper: str
    year: int
    url: str
    differs: str = ""
    score: Callable[[np.ndarray, Any], np.ndarray]

    def rerank(
        self, query: np.ndarray, candidates: np.ndarray, similarity: np.ndarray, parameters: Any = None
    ) -> np.ndarray:
        """Re-rank one query's candidates and return their order; neighbours are sought among these images alone.

        Args:
            query: floating ``[D]``, a unit row.
            candidates: floating ``[n, D]``, unit rows, the query not among them.
            similarity: floating ``[n]``, cosines with the query; it orders candidates of equal score.
            parameters: of :attr:`parameters`; None: the defaults.

        Returns:
            int64 ``[n]``, places among the candidates, best first; equal ones in the order given.
        """
        if not len(candidates):
            return np.zeros(0, np.int64)
        rows = np.concatenate([query[None], candidates])
        scores = self.score(rows, self.parameters() if parameters is None else parameters)
        return np.lexsort((-np.asarray(similarity), -scores[1:]))


@dataclass(frozen=True, kw_only=True)
class ContextualReranking:
    """Size of a neighbourhood, its slack, and the weight of the cosine."""

    k: int = parameter(20, low=2, high=256, help="Size of a neighbourhood, the image itself counted.")
    eps: float = parameter(0.0, low=0.0, high=1.0, help="Slack of the neighbourhood's radius, squared distance.")
    lam: float = parameter(0.3, low=0.0, high=1.0, help="Weight of the cosine against the contextual similarity.")


def contextual_score(rows: np.ndarray, parameters: ContextualReranking) -> np.ndarray:
    """Return (1 - lam) w + lam s, w the contextual similarity (Liao et al. 2023, Eq. 1-4) and s the cosine.

    Eq. 1 is the step function as it is (no gradient is wanted), Eq. 2 the neighbourhoods, Eq. 3 their overlap, Eq. 4
    the expansion over mutual neighbours of half the size and the mean of both directions. It is the similarity that the
    contextual loss trains, of all these images in place of a batch.
    """
    unit, p = unit_rows(torch.from_numpy(rows)), parameters
    cosines = unit @ unit.T
    context = contextual_similarity(cosines, min(p.k, len(unit)), p.eps, 1.0)
    return ((1 - p.lam) * context[0] + p.lam * cosines[0]).numpy()


CONTEXTUAL = Reranking(
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
    score=contextual_score,
    order=10,
)


@dataclass(frozen=True, kw_only=True)
class KReciprocal:
    """Sizes of the two neighbourhoods and the weight of the distance, as in the paper's experiments."""

    k1: int = parameter(20, low=1, high=256, help="Neighbours of an image that may be reciprocal.")
    k2: int = parameter(6, low=1, high=256, help="Nearest images, itself counted, over which an image is averaged.")
    lam: float = parameter(0.3, low=0.0, high=1.0, help="Weight of the distance against the Jaccard distance.")


def k_reciprocal_score(rows: np.ndarray, parameters: KReciprocal) -> np.ndarray:
    """Return 1 - ((1 - lam) d_J + lam d), d_J the Jaccard distance of the images' reciprocal sets (Zhong et al. 2017).

    N(p, k): the k nearest of p. R(p, k): those of them that have p among their own k nearest (Eq. 3). R*(p, k1) joins
    R(q, k1 / 2) of each q in R(p, k1) of which more than two thirds lie in R(p, k1) (Eq. 5). V_p weighs its members by
    exp(-d) (Eq. 7), is averaged over N(p, k2) (Eq. 11), and d_J = 1 - sum min(V_p, V_g) / sum max(V_p, V_g) (Eq. 10).
    """
    unit, p = unit_rows(torch.from_numpy(rows)).numpy(), parameters
    distance = (2 - 2 * unit @ unit.T).clip(min=0)
    np.fill_diagonal(distance, -1)  # every image first among its own neighbours, before copies of itself
    ranked = distance.argsort(axis=1, kind="stable")
    np.fill_diagonal(distance, 0)
    farthest = distance.max(axis=1, keepdims=True)
    farthest[farthest == 0] = 1.0  # all images are equal
    distance /= farthest
    wide, half = (_reciprocal(_indicator(ranked[:, : k + 1])) for k in (p.k1, round(p.k1 / 2)))
    joined = wide * (3 * (wide @ half.T) > 2 * half.sum(axis=1))
    weights = np.exp(-distance) * (wide + joined @ half > 0)
    weights /= weights.sum(axis=1, keepdims=True)
    nearest = _indicator(ranked[:, : p.k2])
    averaged = nearest @ weights / nearest.sum(axis=1, keepdims=True)
    common = np.minimum(averaged[0], averaged).sum(axis=1)  # each V sums to 1: the sum of the larger is 2 less this
    return 1 - ((1 - p.lam) * (1 - common / (2 - common)) + p.lam * distance[0])


def _reciprocal(nearest: np.ndarray) -> np.ndarray:
    return nearest * nearest.T


def _indicator(ids: np.ndarray) -> np.ndarray:
    """Return 1 where a row ``[k]`` of ids names a column, else 0; float64 ``[N, N]``."""
    found = np.zeros((len(ids), len(ids)))
    np.put_along_axis(found, ids, 1, axis=1)
    return found


K_RECIPROCAL = Reranking(
    name="k_reciprocal",
    title="k-reciprocal neighbours",
    sentence="Results first that share many mutual neighbours with the query.",
    paper="Re-ranking Person Re-identification with k-reciprocal Encoding, Zhong et al., CVPR",
    year=2017,
    url="https://arxiv.org/abs/1701.08398",
    differs=(
        "As in the code published with it: d is the squared Euclidean distance divided by the query's largest one, and "
        "the weights of a set sum to 1."
    ),
    parameters=KReciprocal,
    score=k_reciprocal_score,
    order=20,
)


RERANKINGS: Mapping[str, Reranking] = MappingProxyType({each.name: each for each in (CONTEXTUAL, K_RECIPROCAL)})
