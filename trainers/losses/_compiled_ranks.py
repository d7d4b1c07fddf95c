"""The rank losses compiled for the CPU: no pair is ever stored, so memory holds a few ``[B, G]`` matrices.

Two passes over the queries, shared between threads: the ranks; then, from the measure's derivative by each rank, the
slopes. The results equal those of the passes in chunks (:mod:`trainers.losses._rank_loss` and
:mod:`trainers.losses._rank_loss`), which serve GPUs and machines without numba.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import ModuleType

import numpy as np
import torch
from torch import Tensor, nn

from trainers.losses._bound import RankBound, RankMeasure, SmoothLift
from trainers.losses._layout import GalleryLayout

_ALONE = 1 << 20  # pairs up to which one thread is faster than several
_MEASURED = 1 << 20  # ranks that are passed to the measure at once
_BLOCKS = 8  # blocks of queries for each thread, so that none idles at the end


def serves(similarity: Tensor, surrogate: str) -> bool:
    """Return whether the compiled form can be used: on a CPU where numba works, and not for subclasses of Tensor.

    Args:
        similarity: of any device and type.
        surrogate: ``sup`` or ``smooth``.
    """
    return (
        similarity.device.type == "cpu"
        and type(similarity) is Tensor
        and similarity.dtype in (torch.float32, torch.float64)
        and isinstance(_kernels(similarity.dtype, surrogate), ModuleType)
    )


def surrogates(module: nn.Module) -> set[str]:
    """Return which of ``sup`` and ``smooth`` a loss, or one inside it, is; empty where it is no rank loss."""
    return {vars(part)["ranker"].surrogate for part in module.modules() if "ranker" in vars(part)}


def kernel(device: str | torch.device = "cpu", which: Collection[str] = ("sup", "smooth")) -> str:
    """Return one sentence for a log: whether rank losses of these surrogates run compiled on a device."""
    if torch.device(device).type != "cpu":
        return f"Rank losses: PyTorch operations on {torch.device(device).type}."
    for surrogate in sorted(which):
        kernels = _kernels(torch.float32, surrogate)
        if not isinstance(kernels, ModuleType):
            return f"Rank losses: PyTorch operations; numba cannot be used ({type(kernels).__name__}: {kernels})."
    return "Rank losses: compiled for this processor by numba."


@lru_cache(maxsize=4)
def _kernels(dtype: torch.dtype, surrogate: str) -> ModuleType | Exception:
    """Return the compiled functions, tried on two queries, or the error where they do not work."""
    try:
        from trainers.losses import _rank_kernels as kernels

        layout = GalleryLayout(
            order=np.array([[0, 1]], dtype=np.int32), counts=np.array([[1, 1]]), row=np.array([0, 0])
        )
        bound = RankBound(tau=1.0, rho=1.0, delta=1.0, start=0.0, offset=1.0)
        trial = torch.eye(2, dtype=dtype)
        given = _step(None) if surrogate == "sup" else np.array([-1, -1])
        _Work(kernels, surrogate, trial, layout, np.array([0, 1]), bound, given).ranks(np.ones_like(trial.numpy()))
    except Exception as error:  # whatever is wrong with a compiler must cost speed only
        return error
    return kernels


def sup(
    similarity: Tensor, layout: GalleryLayout, bound: RankBound, measure: RankMeasure, lift: SmoothLift | None
) -> tuple[Tensor, Tensor]:
    """Compute the loss of :class:`trainers.losses._rank_loss.SupRank` and d loss / d similarity.

    Args:
        similarity: ``[B, G]``, float32 or float64.
        layout: the layout of the queries.
        bound, measure, lift: of the loss.

    Returns:
        The scalar loss and its ``[B, G]`` slope.
    """
    return _solve("sup", similarity, layout, bound, measure, lambda asking: _step(lift))


def smooth(
    similarity: Tensor,
    layout: GalleryLayout,
    tau: float,
    measure: RankMeasure,
    least: np.ndarray | None,
    self_index: np.ndarray | None,
    absent: np.ndarray | None,
) -> tuple[Tensor, Tensor]:
    """Compute the same for :class:`trainers.losses._rank_loss.SmoothRank`.

    Args:
        similarity, layout, measure: as for :func:`sup`.
        tau: width of the sigmoid.
        least: ``[B]`` positives below which a query is left out; None: one.
        self_index: ``[B]`` the item that is the query and no positive of itself, -1 where none is; None: none is.
        absent: ``[B]`` the item that is in no list of its own, likewise.
    """
    everywhere = RankBound(tau=tau, rho=0.0, delta=float("inf"), start=0.0, offset=0.0)  # the sigmoid alone
    absent = np.full(len(similarity), -1) if absent is None else absent
    return _solve("smooth", similarity, layout, everywhere, measure, absent.__getitem__, least, self_index)


def _solve(
    surrogate: str,
    similarity: Tensor,
    layout: GalleryLayout,
    bound: RankBound,
    measure: RankMeasure,
    given: Callable[[np.ndarray], object],
    least: np.ndarray | None = None,
    self_index: np.ndarray | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute loss and slope. ``given`` makes what the kernel takes beside the bound from the queries ``[A]``."""
    asking = np.flatnonzero(layout.positives[layout.row] >= (1 if least is None else least))
    if not len(asking):
        return similarity.new_zeros(()), torch.zeros_like(similarity)
    kernels = _kernels(similarity.dtype, surrogate)
    if not isinstance(kernels, ModuleType):
        raise kernels
    work = _Work(kernels, surrogate, similarity, layout, asking, bound, given(asking))
    counts = layout.counts[work.row]
    if self_index is not None:  # the query moves from the finest level to the items that match nothing
        moved = self_index[asking] >= 0
        counts[:, -1] -= moved
        counts[:, 0] += moved
    counts = torch.from_numpy(counts)
    relevance = measure.relevance(counts, similarity.dtype).contiguous().numpy()
    rank, above = work.ranks(relevance)
    loss, pull, lead = _measured(
        measure, rank, above, work.levels(), work.valid(self_index), counts, similarity.shape[1]
    )
    return loss, work.slopes(relevance, pull, lead)


class _Work:
    """The arrays that a kernel reads, and the threads it runs in.

    Args:
        kernels: :mod:`trainers.losses._rank_kernels`.
        surrogate: which of its functions.
        similarity: ``[B, G]``.
        layout: the layout of all queries.
        asking: ``[A]`` int64, the queries with a positive.
        bound: the bound's shape.
        given: what the function takes beside the bound.
    """

    def __init__(
        self,
        kernels: ModuleType,
        surrogate: str,
        similarity: Tensor,
        layout: GalleryLayout,
        asking: np.ndarray,
        bound: RankBound,
        given: object,
    ) -> None:
        self._run, self._layout, self._given, self.row = getattr(kernels, surrogate), layout, given, layout.row[asking]
        table = similarity.detach().contiguous().numpy()
        kind = table.dtype.type
        shape = (1.0, bound.start, bound.delta, bound.rho, bound.offset, 1 / bound.tau, 2 * kernels.REACH * bound.tau)
        self._ends, self._asking, self._table = layout.ends, asking, table
        self._inputs = (table, layout.order, asking, self.row, self._ends)
        self._shape = (tuple(kind(number) for number in shape), *kernels.exponential(table.dtype))
        self._width = int(layout.positives[self.row].max())

    def levels(self) -> Tensor:
        """Return ``[A, P]`` int64 level counts of each query's positives, and of what follows them."""
        position = np.arange(self._width)
        level = np.zeros((len(self._ends), self._width), dtype=np.int64)
        for end in self._ends.T:
            level += position < end[:, None]
        return torch.from_numpy((level - 1)[self.row])

    def valid(self, self_index: np.ndarray | None) -> Tensor:
        """Return ``[A, P]`` bool: whether a positive stands there that is not the query itself."""
        valid = np.arange(self._width) < self._layout.positives[self.row, None]
        if self_index is not None:
            valid &= self._layout.order[self.row, : self._width] != self_index[self._asking, None]
        return torch.from_numpy(valid)

    def ranks(self, relevance: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the ranks and H-ranks ``[A, P]``; one where there is no positive."""
        rank, above = (np.ones((len(self._asking), self._width), dtype=self._table.dtype) for _ in range(2))
        self._share(relevance, False, rank, above, self._table[:0])
        return torch.from_numpy(rank), torch.from_numpy(above)

    def slopes(self, relevance: np.ndarray, pull: Tensor, lead: Tensor) -> Tensor:
        """Return ``[B, G]`` d loss / d similarity, from d loss / d rank and d loss / d H-rank ``[A, P]``."""
        slope = np.zeros_like(self._table)
        self._share(relevance, True, pull.numpy(), lead.numpy(), slope)
        return torch.from_numpy(slope)

    def _share(self, relevance: np.ndarray, *rest: object) -> None:
        """Share every query, once, between torch's number of threads; the threads end with the call."""
        run, given = self._run, (self._inputs, relevance, self._shape, self._given, *rest)
        queries, workers = len(self._asking), torch.get_num_threads()
        if workers == 1 or queries * self._width * self._table.shape[1] < _ALONE:
            run(0, queries, *given)
            return
        step = -(-queries // (workers * _BLOCKS))
        firsts = range(0, queries, step)
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda first: run(first, min(first + step, queries), *given), firsts))


def _step(lift: SmoothLift | None) -> tuple[bool, tuple[float, float, float]]:
    return (False, (0.0, 0.0, 0.0)) if lift is None else (True, (lift.beta, lift.leak, lift.gamma))


def _measured(
    measure: RankMeasure, rank: Tensor, above: Tensor, level: Tensor, valid: Tensor, counts: Tensor, size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss, d loss / d rank and d loss / d H-rank ``[A, P]``, computed some queries at a time."""
    pull, lead, total = torch.empty_like(rank), torch.zeros_like(rank), rank.new_zeros(())
    for part in torch.arange(len(rank)).split(max(1, _MEASURED // rank.shape[1])):
        part = slice(int(part[0]), int(part[-1]) + 1)
        share, pull[part], by_above = measure.shares(
            rank[part], above[part], level[part], valid[part], counts[part], size
        )
        if by_above is not None:
            lead[part] = by_above
        total += (1.0 - share).sum()
    return total / len(rank), pull.mul_(-1.0 / len(rank)), lead.mul_(-1.0 / len(rank))
