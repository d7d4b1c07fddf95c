"""Re-ranking by k-reciprocal neighbours: images that are among each other's nearest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from torch import Tensor

from trainers.parameters import parameter
from trainers.retrieval.reranking._neighbours import cosine_blocks, squared_distances, top, unit_rows
from trainers.retrieval.reranking.base import Reranking, Scores

PAIRS = 2**20  # pairs of images whose distance is computed at once


@dataclass(frozen=True, kw_only=True)
class KReciprocal:
    """Sizes of the two neighbourhoods and the weight of the distance, as in the paper's experiments."""

    k1: int = parameter(20, low=1, high=256, help="Neighbours of an image that may be reciprocal.")
    k2: int = parameter(6, low=1, high=256, help="Nearest images, itself counted, over which an image is averaged.")
    lam: float = parameter(0.3, low=0.0, high=1.0, help="Weight of the distance against the Jaccard distance.")


@dataclass(frozen=True, kw_only=True)
class _Sets:
    """The sets and distances that the scores are made of.

    Attributes:
        unit: ``[N, D]``.
        farthest: float64 ``[N]``, squared distance of the farthest image of each.
        weights: float64 ``[N, N]`` in compressed rows, V of the paper after local query expansion; each row sums to 1.
        columns: the same in compressed columns.
        lam: weight of the distance.
    """

    unit: Tensor
    farthest: np.ndarray
    weights: sparse.csr_array
    columns: sparse.csc_array
    lam: float


def prepare(rows: np.ndarray, parameters: KReciprocal) -> Scores:
    """Return 1 - ((1 - lam) d_J + lam d), d_J the Jaccard distance of the images' reciprocal sets (Zhong et al. 2017).

    N(p, k): the k nearest of p. R(p, k): those of them that have p among their own k nearest (Eq. 3). R*(p, k1) joins
    R(q, k1 / 2) of each q in R(p, k1) of which more than two thirds lie in R(p, k1) (Eq. 5). V_p weighs its members by
    exp(-d) (Eq. 7), is averaged over N(p, k2) (Eq. 11), and d_J = 1 - sum min(V_p, V_g) / sum max(V_p, V_g) (Eq. 10).
    """
    unit, p = unit_rows(rows), parameters
    n = len(unit)
    wide, farthest = min(p.k1 + 1, n), np.empty(n)
    ranked = np.empty((n, max(wide, min(p.k2, n))), np.int64)
    for part, cosines in cosine_blocks(unit):
        distance = squared_distances(part, cosines)
        farthest[part] = distance.max(1).values.numpy()
        ranked[part] = top(part, distance, ranked.shape[1])
    farthest[farthest == 0] = 1.0  # all images are equal
    members = _expanded(ranked[:, :wide], ranked[:, : min(round(p.k1 / 2) + 1, n)])
    apart = _distances(unit, members) / np.repeat(farthest, np.diff(members.indptr))
    weights = sparse.csr_array((np.exp(-apart), members.indices, members.indptr), shape=members.shape)
    weights.data /= np.repeat(weights.sum(1), np.diff(weights.indptr))
    nearest = _indicator(ranked[:, : min(p.k2, n)]).astype(np.float64)
    averaged = (nearest @ weights / nearest.sum(1)[:1]).tocsr()
    return partial(_scores, _Sets(unit=unit, farthest=farthest, weights=averaged, columns=averaged.tocsc(), lam=p.lam))


def _scores(sets: _Sets, part: slice) -> np.ndarray:
    distance = squared_distances(part, sets.unit[part] @ sets.unit.T).double().numpy()
    distance /= sets.farthest[part, None]
    for row, query in enumerate(range(part.start, part.stop)):
        common = _common(sets, query)
        distance[row] = (1 - sets.lam) * (1 - common / (2 - common)) + sets.lam * distance[row]
    return 1 - distance


def _common(sets: _Sets, query: int) -> np.ndarray:
    """Return sum min(V_p, V_g) of image ``query`` and every g: float64 ``[N]``. V sums to 1: sum max is 2 less this."""
    members = slice(sets.weights.indptr[query], sets.weights.indptr[query + 1])
    columns, values = sets.weights.indices[members], sets.weights.data[members]
    first, size = sets.columns.indptr[columns], np.diff(sets.columns.indptr)[columns]
    entries = np.arange(size.sum()) + np.repeat(first - (size.cumsum() - size), size)
    least = np.minimum(sets.columns.data[entries], np.repeat(values, size))
    return np.bincount(sets.columns.indices[entries], least, minlength=len(sets.farthest))


def _expanded(wide: np.ndarray, narrow: np.ndarray) -> sparse.csr_array:
    """Return R* of every image, nonzero in ``[N, N]``, from its nearest ``[N, k1 + 1]`` and ``[N, k1 / 2 + 1]``."""
    reciprocal, half = (_reciprocal(_indicator(ids)) for ids in (wide, narrow))
    within = (reciprocal.astype(np.int32) @ half.T.astype(np.int32)).multiply(reciprocal).tocsr()
    joined = within.copy()
    joined.data = 3 * within.data > 2 * half.sum(1)[within.indices]
    joined.eliminate_zeros()
    members = (reciprocal.astype(np.int32) + joined.astype(np.int32) @ half.astype(np.int32)).tocsr()
    members.sort_indices()
    return members


def _reciprocal(nearest: sparse.csr_array) -> sparse.csr_array:
    return nearest.multiply(nearest.T.tocsr()).tocsr()


def _indicator(ids: np.ndarray) -> sparse.csr_array:
    """Return 1 where a row ``[k]`` of ids names a column, int8 ``[N, N]``."""
    count, k = ids.shape
    start = np.arange(count + 1) * k
    return sparse.csr_array((np.ones(ids.size, np.int8), ids.ravel(), start), shape=(count, count))


def _distances(unit: Tensor, pairs: sparse.csr_array) -> np.ndarray:
    """Return the squared distances, float64, beside the index of ``pairs``; 0 to the image itself."""
    row = np.repeat(np.arange(len(unit)), np.diff(pairs.indptr))
    parts = []
    for first in range(0, len(row), PAIRS):
        some = slice(first, first + PAIRS)
        cosines = (unit[row[some]] * unit[pairs.indices[some]]).sum(1)
        parts.append((2 - 2 * cosines).clamp_(min=0).double().numpy())
    distance = np.concatenate(parts)
    distance[row == pairs.indices] = 0
    return distance


DESCRIPTOR = Reranking(
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
    prepare=prepare,
    order=20,
)
