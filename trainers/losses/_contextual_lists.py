"""The contextual loss by lists of neighbours, for small neighbourhoods, in place of products of whole matrices.

For a batch of n images, N holds 1 where an item is in an image's neighbourhood, C where it is in the narrow one, c the
row sums of N (constants) and r = max(n - c, 1). With * and / entry by entry, a vector applied to the rows,

    S = N N'        shared neighbours              W = N/2 * (S/c + K/r)
    K_ij = n - sum_l N_il - sum_l N_jl + S_ij      E = M W / m,  m_i = sum_j M_ij
    M = C * C'      mutual ones                    w = (E + E')/2,  y the labels' equality

the loss is the mean of D^2, D = w - y off the diagonal. Every step passes a constant slope to its argument, whatever
its value, so entries of N and C that are 0 have derivatives too. Up to the factor 2/n^2, D symmetric, they are

    R = M (D/m)                                    by W; T = N * R/2 * (1/c + 1/r) by S; U = N * R/(2r) by K
    by N   R/2 * (S/c + K/r) + (T + T') N - a      a_i = sum_j (U_ij + U_ji), for every entry of row i
    by M   Q_ij = (1/m_i) sum_l D_il W_jl + mu_i   mu_i = -(1/m_i) sum_l D_il E_il
    by C   (Q_ij + Q_ji) * C_ji

and a step's argument falls by twice the cosine's rise wherever the squared distance is above 0. R, T and U are zero but
where neighbourhoods of neighbours reach, Q is wanted at C' alone, and a is one number a row: no product of two
``[n, n]`` matrices is left.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from scipy import sparse
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainers.losses import _contextual_loops as loops

SMALL = 96  # images up to which whole matrices are quicker anyway
FULL = 1 / 8  # share of all pairs that are neighbours, from which lists are not even made
WORK = 1 / 12  # additions over lists, as a share of n^3, that cost as much as the products of whole matrices
SHARED = 2**17  # entries below which a second thread costs more than it saves


@dataclass(frozen=True, kw_only=True)
class Neighbourhoods:
    """The neighbours of a batch, as lists, and what the two simple terms need.

    Attributes:
        similarity: ``[n, n]``; labels: int64 ``[n]``.
        near, close: bool ``[n, n]`` in compressed rows, the wide neighbourhood and the narrow one.
        back: int32, ``near`` transposed; its values are the places of the entries in ``near``.
        sums: float64 ``[5]``: sum and number of active positive hinges, the same of negative ones, sum of all cosines.
        margins: positive and negative, of the type of ``similarity``.
        alpha: slope of a step.
    """

    similarity: ndarray
    labels: ndarray
    near: sparse.csr_array
    close: sparse.csr_array
    back: sparse.csr_array
    sums: ndarray
    margins: tuple[float, float]
    alpha: float

    def terms(self, similarity: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return contextual term, contrastive term and mean cosine, scalars, of the similarity behind this."""
        context, contrast, mean = _Terms.apply(similarity, self)
        return context, contrast, mean


def neighbourhoods(
    similarity: Tensor, labels: ndarray, *, k: int, eps: float, alpha: float, margins: tuple[float, float]
) -> Neighbourhoods | None:
    """List the neighbours of every image; None where there are so many that whole matrices are quicker, and where an
    image is not in its own neighbourhood.

    Args:
        similarity: ``[n, n]`` cosines on the CPU, float32 or float64, n > k.
        labels: int64 ``[n]``.
        k, eps, alpha: as for :func:`trainers.losses.contextual.contextual_similarity`.
        margins: of the contrastive term, positive and negative.
    """
    if len(similarity) <= SMALL:
        return None
    s = similarity.detach().contiguous().numpy()
    n, number = len(s), s.dtype.type
    margins = number(margins[0]), number(margins[1])
    radii, sizes, sums = survey(s, labels, k=k, eps=eps, margins=margins)
    alone = ~(np.maximum(2 - 2 * s.diagonal(), 0) <= radii[1])  # no number, or rounding puts a copy before itself
    if sizes[0].sum() > FULL * n * n or alone.any():
        return None
    near = _lists(s, radii[0], sizes[0])
    back = transposed(near)
    among = np.diff(back.indptr).astype(np.int64)
    if (among * (2 * among + sizes[0])).sum() + (sizes[0] ** 2).sum() > WORK * n**3:
        return None
    close = _lists(s, radii[1], sizes[1])
    return Neighbourhoods(
        similarity=s,
        labels=labels,
        near=near,
        close=close,
        back=back,
        sums=sums.sum(0),
        margins=margins,
        alpha=alpha,
    )


def survey(
    s: ndarray, labels: ndarray, *, k: int, eps: float, margins: tuple[float, float]
) -> tuple[ndarray, ndarray, ndarray]:
    """Return radii ``[2, n]``, sizes ``[2, n]`` and sums ``[n, 5]``, see :mod:`trainers.losses._contextual_loops`."""
    n, number = len(s), s.dtype.type
    radii, sizes, sums = np.empty((2, n), s.dtype), np.empty((2, n), np.int64), np.empty((n, 5))
    numbers = number(eps), number(margins[0]), number(margins[1])
    _rows(loops.survey, n, s, labels, k, k // 2, numbers, radii, sizes, sums)
    return radii, sizes, sums


class _Terms(torch.autograd.Function):
    """Forms the contextual term's slope in the forward pass; the others' are written in the backward pass."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, neighbourhoods: Neighbourhoods) -> tuple[Tensor, Tensor, Tensor]:
        loss, slope = _context(neighbourhoods, with_slope=ctx.needs_input_grad[0])
        ctx.neighbourhoods, ctx.slope = neighbourhoods, slope
        pull, pulls, push, pushes, total = neighbourhoods.sums
        values = (loss, pull / max(pulls, 1) + push / max(pushes, 1), total / similarity.numel())
        context, contrast, mean = (similarity.new_tensor(value) for value in values)
        return context, contrast, mean

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, context: Tensor, contrast: Tensor, mean: Tensor) -> tuple[Tensor, None]:
        neighbourhoods, s = ctx.neighbourhoods, ctx.neighbourhoods.similarity
        active = max(neighbourhoods.sums[1], 1), max(neighbourhoods.sums[3], 1)
        given = context.item(), *(contrast.item() / count for count in active), mean.item() / s.size
        out, weights = np.empty_like(s), tuple(s.dtype.type(weight) for weight in given)
        _rows(loops.combine, len(s), s, neighbourhoods.labels, ctx.slope, neighbourhoods.margins, weights, out)
        return torch.from_numpy(out), None


def _context(neighbourhoods: Neighbourhoods, *, with_slope: bool) -> tuple[float, ndarray | None]:
    """Return the mean of D^2 and its derivative by the cosines ``[n, n]``."""
    s, n = neighbourhoods.similarity, len(neighbourhoods.similarity)
    near, back = _pair(neighbourhoods.near), (*_pair(neighbourhoods.back), neighbourhoods.back.data)
    worth, mutual, expanded = expand(neighbourhoods.near, neighbourhoods.back, neighbourhoods.close, s.dtype)
    size, row = np.diff(mutual.indptr), np.repeat(np.arange(n), np.diff(expanded.indptr))
    closer = neighbourhoods.close.T.tocsr()
    misses = _misses(expanded, neighbourhoods.labels)
    loss = np.einsum("ij,ij->i", misses, misses).sum(dtype=np.float64) / n**2
    if not with_slope:
        return loss, None
    by_size = -np.bincount(row, misses[row, expanded.indices] * expanded.data, minlength=n) / size
    mutual.data /= size[mutual.indices].astype(s.dtype)
    slope, pulls = mutual @ misses, np.empty_like(worth)
    _rows(loops.direct, n, near, back, pulls, slope)
    scale = 2 * neighbourhoods.alpha * 2 / n**2
    rest = worth, misses, by_size, pulls, scale, slope
    _rows(loops.gather, n, s, near, back, _pair(mutual), _pair(closer), *rest)
    return loss, slope


def expand(
    near: sparse.csr_array, back: sparse.csr_array, close: sparse.csr_array, number: np.dtype
) -> tuple[ndarray, sparse.csr_array, sparse.csr_array]:
    """Return W beside the index of ``near``, M and E, of the type ``number``; see the head of this module.

    Args:
        near, back, close: as in :class:`Neighbourhoods`.
    """
    n = len(near.indptr) - 1
    worth = np.empty(near.nnz, number)
    _rows(loops.overlaps, n, _pair(near), (*_pair(back), back.data), worth)
    mutual = close.multiply(close.T.tocsr()).tocsr().astype(number)
    expanded = mutual @ sparse.csr_array((worth, near.indices, near.indptr), shape=(n, n))
    row = np.repeat(np.arange(n), np.diff(expanded.indptr))
    expanded.data /= np.diff(mutual.indptr)[row].astype(number)
    return worth, mutual, expanded


def transposed(near: sparse.csr_array) -> sparse.csr_array:
    """Return ``back`` of :class:`Neighbourhoods`: the transpose, its values the indices of the entries in ``near``."""
    entries = np.arange(near.nnz, dtype=np.int32)
    return sparse.csr_array((entries, near.indices, near.indptr), shape=near.shape).T.tocsr()


def _misses(expanded: sparse.csr_array, labels: ndarray) -> ndarray:
    """Return D ``[n, n]``."""
    misses: ndarray = np.equal.outer(labels, labels).astype(expanded.dtype)
    np.negative(misses, out=misses)
    symmetric = (expanded + expanded.T).tocsr()
    misses[np.repeat(np.arange(len(labels)), np.diff(symmetric.indptr)), symmetric.indices] += symmetric.data / 2
    np.fill_diagonal(misses, 0)
    return misses


def _lists(s: ndarray, radii: ndarray, sizes: ndarray) -> sparse.csr_array:
    """Return items within the radii."""
    start = np.zeros(len(s) + 1, np.int32)
    np.cumsum(sizes, out=start[1:])
    index = np.empty(start[-1], np.int32)
    _rows(loops.members, len(s), s, radii, start, index)
    return sparse.csr_array((np.ones(len(index), dtype=np.bool_), index, start), shape=s.shape)


def _pair(lists: sparse.csr_array) -> tuple[ndarray, ndarray]:
    return lists.indptr, lists.indices


def _rows(loop: Callable[..., None], n: int, *given: Any) -> None:
    """Run a loop over all rows, shared between torch's number of threads."""
    workers = torch.get_num_threads()
    if workers == 1 or n * n < SHARED:
        return loop(*given, 0, n)
    step = -(-n // workers)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda first: loop(*given, first, min(first + step, n)), range(0, n, step)))
    return None
