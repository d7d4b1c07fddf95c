"""Rank losses with a bounded rank: mean over queries of 1 - score, with the gradient formed in the forward pass.

Ramzi et al. 2023, Eq. 3-5: rank(i) = rank+(i) + sum over less relevant j of H-(s_j - s_i), where rank+ counts items at
least as relevant with the true step (no gradient). Only a query's positives are ranked, queries are computed in chunks,
and d loss / d similarity is one ``[B, G]`` matrix, so no ``[B, G, G]`` tensor is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainers.losses import _compiled_ranks
from trainers.losses._batch import PairBatch
from trainers.losses._bound import Bound, SmoothLift
from trainers.losses._bound_sums import bound_pull
from trainers.losses._layout import FAR, Layout, chunks, make_layout, segment, send_layout
from trainers.losses._rank_measures import Measure

# Pairs held at once: on a CPU what fits the caches, on a GPU enough that launching kernels takes little of the time.
CPU_PAIRS, GPU_PAIRS = 1 << 20, 1 << 25


@dataclass(frozen=True, kw_only=True)
class SupRank:
    """The ranker of a Sup-* loss.

    Attributes:
        bound: the upper bound on the step, for less relevant items.
        measure: the score of a query's ranks.
        lift: smooth form of the numerator's step for finer items; None: the true step, without gradient.
        budget: pairs held at once, in chunks of queries; None: by device, and no pairs at all where the compiled form
            (:mod:`trainers.losses._compiled_ranks`) can be used.
    """

    bound: Bound
    measure: Measure
    lift: SmoothLift | None = None
    budget: int | None = None
    surrogate: ClassVar = "sup"

    def loss(self, batch: PairBatch) -> Tensor:
        """Return the mean of 1 - score over the queries with a positive; 0, with zero gradient, when there is none."""
        similarity, layout = batch.similarity.detach(), make_layout(batch.labels, batch.gallery_labels)
        if self.budget is None and _compiled_ranks.serves(similarity, self.surrogate):
            solution = _compiled_ranks.sup(similarity, layout, self.bound, self.measure, self.lift)
        else:
            solution = walk(similarity, layout, self.chunk, self.budget)
        loss: Tensor = WithSlope.apply(batch.similarity, *solution)
        return loss

    def chunk(
        self, scores: Tensor, counts: Tensor, self_mask: Tensor | None, most: Sequence[int], budget: int
    ) -> tuple[Tensor, Tensor]:
        """Compute scores and their slopes for some queries.

        Args:
            scores: ``[b, G]`` similarities, finest match first.
            counts: ``[b, L + 1]`` items at each level.
            self_mask: None; these losses count a query among its positives.
            most: the largest count of each level among the queries.
            budget: pairs held at once.

        Returns:
            ``[b]`` query scores and ``[b, G]`` d (sum of scores) / d similarity, laid out as ``scores``.
        """
        relevance = self.measure.relevance(counts, scores.dtype)
        first = counts.flip(1).cumsum(1).flip(1) - counts  # finer items come before
        pieces = _by_level(scores, first, counts, most)
        total, slope = scores.new_zeros(len(scores)), torch.zeros_like(scores)
        for v, (rows, at) in pieces.items():
            columns, to = segment(scores, first[:, v] + counts[:, v], counts[:, :v].sum(1), sum(most[:v]), -FAR)
            rank, above = _counted(rows, v, pieces, counts, relevance, smooth=self.lift is not None)
            lift, finer = self.lift, [(u, *pieces[u]) for u in pieces if u > v]
            if lift is not None:
                for u, others, _ in finer:
                    gap, weight = _finer(rows, others, relevance, u, v)
                    above += (weight * lift.value(gap)).sum(-1)
            by_above = torch.zeros_like(above)
            fixed = (torch.full_like(at, v), rows < FAR)

            def pull(
                sums: Tensor,
                part: slice,
                rank: Tensor = rank,
                above: Tensor = above,
                fixed: tuple[Tensor, Tensor] = fixed,
                by_above: Tensor = by_above,
            ) -> Tensor:
                level, valid = (t[:, part] for t in fixed)
                share, slopes, lead = self.measure.shares(
                    rank[:, part] + sums, above[:, part], level, valid, counts, scores.shape[1]
                )
                total.add_(share)
                by_above[:, part] = 0.0 if lead is None else lead
                return slopes

            to_rows, to_columns = bound_pull(rows, columns, self.bound, pull, budget)
            if lift is not None:
                for u, others, source in finer:
                    gap, weight = _finer(rows, others, relevance, u, v)
                    pulled = weight * lift.slope(gap) * by_above[:, :, None]
                    to_rows -= pulled.sum(2)
                    slope.scatter_add_(1, source, pulled.sum(1))
            slope.scatter_add_(1, at, to_rows.masked_fill(rows == FAR, 0.0))
            slope.scatter_add_(1, to, to_columns.masked_fill(columns == -FAR, 0.0))
        return total, slope


def _by_level(scores: Tensor, first: Tensor, counts: Tensor, most: Sequence[int]) -> dict[int, tuple[Tensor, Tensor]]:
    """Return the similarities of each level with positives ``[b, R]``, ascending, and where in ``scores`` they are."""
    pieces = {}
    for v in range(1, counts.shape[1]):
        if most[v]:
            values, at = segment(scores, first[:, v], counts[:, v], most[v], FAR)
            values, turn = values.sort(-1)
            pieces[v] = (values, at.gather(1, turn))
    return pieces


def _finer(rows: Tensor, others: Tensor, relevance: Tensor, u: int, v: int) -> tuple[Tensor, Tensor]:
    """Return gaps ``[b, R, C]`` of level-u items over level-v rows, and their weights, zero at fillers."""
    gap = others[:, None, :] - rows[:, :, None]
    weight = torch.minimum(relevance[:, u], relevance[:, v])[:, None, None]
    return gap, weight * (others < FAR)[:, None, :] * (rows < FAR)[:, :, None]


def _counted(
    rows: Tensor, v: int, pieces: dict[int, tuple[Tensor, Tensor]], counts: Tensor, relevance: Tensor, smooth: bool
) -> tuple[Tensor, Tensor]:
    """Count rank+ and H-rank of the level-v rows: ties count as above, and each item counts itself.

    With ``smooth`` the H-rank leaves finer items out.
    """
    rank, above = torch.zeros_like(rows), torch.zeros_like(rows)
    for u, (others, _) in pieces.items():
        ahead = (counts[:, u, None] - torch.searchsorted(others, rows)).to(rows.dtype)
        if u <= v or not smooth:
            above += torch.minimum(relevance[:, u], relevance[:, v])[:, None] * ahead
        if u >= v:
            rank += ahead
    # Fillers lie above everything and have counted nothing; any positive rank keeps their unused share finite.
    return rank.clamp_(min=1.0), above


class WithSlope(torch.autograd.Function):
    """A loss whose derivative by the similarities was formed beside it: ``apply(similarity, loss, slope)``."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, loss: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return loss.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return slope * grad, None, None


def walk(
    similarity: Tensor,
    layout: Layout,
    chunk: Callable[..., tuple[Tensor, Tensor]],
    budget: int | None,
    *,
    every: bool = False,
    least: np.ndarray | None = None,
    self_index: np.ndarray | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the loss and d loss / d similarity ``[B, G]``, some queries at a time.

    Args:
        similarity: ``[B, G]``, without a graph.
        layout: the layout of all queries.
        chunk: scores and slopes of some queries, see :meth:`SupRank.chunk`.
        budget: pairs held at once; None: by device.
        every, least: as for :func:`trainers.losses._layout.chunks`.
        self_index: ``[B]``, the item that is the query itself and not a positive, -1 for none; None: none for any.
    """
    budget = budget or (GPU_PAIRS if similarity.is_cuda else CPU_PAIRS)
    queries, parts = chunks(layout, budget, every=every, least=least)
    there = send_layout(layout, queries, self_index, similarity.device)
    slope, total = torch.zeros_like(similarity), similarity.new_zeros(())
    for some in parts:
        asking, row = there.queries[some.part], there.row[some.part]
        order = there.order.index_select(0, row).long()
        mine = None if self_index is None else order == there.self_index[some.part, None]
        scores = similarity.index_select(0, asking).gather(1, order)
        share, pulled = chunk(scores, there.counts.index_select(0, row), mine, some.most, budget)
        slope.index_copy_(0, asking, torch.empty_like(pulled).scatter_(1, order, pulled))
        total += (1.0 - share).sum()
    asked = max(1, len(queries))
    return total / asked, slope.mul_(-1.0 / asked)
