"""Re-ranking by contextual similarity: how far the neighbourhoods of two images overlap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
import torch
from scipy import sparse

from trainers.errors import UserError
from trainers.losses.contextual import contextual_similarity, lists
from trainers.parameters import parameter
from trainers.retrieval.reranking._neighbours import cosine_blocks, squared_distances, unit_rows
from trainers.retrieval.reranking.base import Reranking, Scores

TITLE = "Contextual similarity"
MOST = 2**26  # neighbours of all images together, in lists of 4 bytes each and a few times that at work


@dataclass(frozen=True, kw_only=True)
class ContextualReranking:
    """Size of a neighbourhood, its slack, and the weight of the cosine."""

    k: int = parameter(20, low=2, high=256, help="Size of a neighbourhood, the image itself counted.")
    eps: float = parameter(0.0, low=0.0, high=1.0, help="Slack of the neighbourhood's radius, squared distance.")
    lam: float = parameter(0.3, low=0.0, high=1.0, help="Weight of the cosine against the contextual similarity.")


def prepare(rows: np.ndarray, parameters: ContextualReranking) -> Scores:
    """Return (1 - lam) w + lam s, w the contextual similarity (Liao et al. 2023, Eq. 1-4) and s the cosine.

    Eq. 1 is the step function as it is (no gradient is wanted), Eq. 2 the neighbourhoods, Eq. 3 their overlap, Eq. 4
    the expansion over mutual neighbours of half the size and the mean of both directions. It is the similarity that the
    contextual loss trains, of all these images in place of a batch.

    Raises:
        UserError: the neighbourhoods hold too many images.
    """
    unit, p = unit_rows(rows), parameters
    compiled = lists(unit.dtype)
    if compiled is None:  # no compiler: whole matrices, in less memory for few images alone
        if len(unit) ** 2 > MOST:
            raise UserError(f"{TITLE} of {len(unit):,} images needs numba, which cannot compile here.")
        whole = contextual_similarity(unit @ unit.T, min(p.k, len(unit)), p.eps, 1.0)
        return lambda part: ((1 - p.lam) * whole[part] + p.lam * unit[part] @ unit.T).double().numpy()
    context = _listed(unit, p, compiled)
    return partial(_scores, unit, context, p.lam)


def _scores(unit: torch.Tensor, context: sparse.csr_array, lam: float, part: slice) -> np.ndarray:
    scores = (unit[part] @ unit.T).double().numpy() * lam
    weights = context[part].tocoo()
    scores[weights.row, weights.col] += (1 - lam) * weights.data
    return scores


def _listed(unit: torch.Tensor, p: ContextualReranking, compiled: ModuleType) -> sparse.csr_array:
    """Compute w ``[N, N]`` as lists."""
    n, total = len(unit), 0
    k = min(p.k, n)
    near: list[sparse.csr_array] = []
    close: list[sparse.csr_array] = []
    for part, cosines in cosine_blocks(unit):
        distance = squared_distances(part, cosines)
        nearest = distance.topk(k, largest=False, sorted=True).values
        for size, blocks in ((k, near), (k // 2, close)):
            row, column = (distance <= nearest[:, size - 1 : size] + p.eps).nonzero(as_tuple=True)
            blocks.append(
                sparse.csr_array((np.ones(len(row), bool), (row.numpy(), column.numpy())), shape=cosines.shape)
            )
        total += near[-1].nnz
        if total > MOST:
            raise UserError(
                f"The neighbourhoods of {part.stop:,} images hold {total:,} images, more than can be kept: "
                "many embeddings are almost equal. Choose a smaller eps or k, or another step of the training."
            )
    wide, narrow = (_small(sparse.vstack(blocks, "csr")) for blocks in (near, close))
    number = unit.numpy().dtype
    _, _, expanded = compiled.expand(wide, compiled.transposed(wide), narrow, number)
    context: sparse.csr_array = ((expanded + expanded.T) / 2).tocsr()
    return context


def _small(matrix: sparse.csr_array) -> sparse.csr_array:
    """Give a matrix int32 indices in order, as the compiled loops take them."""
    matrix.sort_indices()
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=matrix.shape)


DESCRIPTOR = Reranking(
    name="contextual",
    title=TITLE,
    sentence="Results first whose nearest neighbours are also the query's.",
    paper="Supervised Metric Learning to Rank for Retrieval via Contextual Similarity Optimization, Liao et al., ICML",
    year=2023,
    url="https://arxiv.org/abs/2210.01908",
    differs=(
        "The paper trains this similarity and ranks by the cosine. k, eps = 0 and the weight of the cosine, which "
        "orders the many images without a common neighbour, are ours."
    ),
    parameters=ContextualReranking,
    prepare=prepare,
    order=10,
)
