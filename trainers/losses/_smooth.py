"""Ranks made smooth by replacing every step with a sigmoid: Smooth-AP and its relatives.

rank(i) = 1 + sum_{j != i} sig((s_j - s_i) / tau) over every gallery item j (Brown et al. 2020, Eq. 5-7); the weighted
count above i gets the same sigmoids. Positives alone are ranked, in chunks of queries, gradient formed at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainers.host import host
from trainers.losses import _fused
from trainers.losses._batch import PairBatch
from trainers.losses._levels import Layout, chunks, layout, send_plan
from trainers.losses._measures import Measure
from trainers.losses._rank import CPU_PAIRS, GPU_PAIRS


@dataclass(frozen=True, kw_only=True)
class SmoothRank:
    """How a Smooth-* loss ranks.

    Attributes:
        tau: the sigmoid's width.
        measure: the score of a query's ranks.
        without_self: the query is no positive of itself, though it stays among the items that push positives down
            (the code of Patel et al.).
        self_in_rank: it does stay there; without it is out of the list altogether.
        budget: as in :class:`trainers.losses._rank.SupRank`.
    """

    tau: float
    measure: Measure
    without_self: bool = False
    self_in_rank: bool = True
    budget: int | None = None

    def loss(self, batch: PairBatch) -> Tensor:
        """Mean of 1 - score over the queries with a positive; zero, with zero gradient, when there is none."""
        plan = layout(batch.labels, batch.gallery_labels)
        own = host(batch.itself) if self.without_self and batch.itself is not None else None
        return _Walk.apply(batch.similarity, plan, self, own)

    def chunk(self, scores: Tensor, counts: Tensor, own: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Scores and slopes of some queries.

        Args:
            scores: ``[b, G]`` similarities, finest match first.
            counts: ``[b, L + 1]``.
            own: ``[b, G]`` bool, the query itself where it must not count as a positive.
            most: largest number of positives among the queries.

        Returns:
            ``[b]`` scores and ``[b, G]`` d (sum of scores) / d similarity, laid out as ``scores``.
        """
        depth = counts.shape[1] - 1
        ends = counts.flip(1).cumsum(1)[:, :-1]  # where each level from the finest ends
        place = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
        level = depth - torch.searchsorted(ends.contiguous(), place.contiguous(), right=True)
        valid = (level[:, :most] > 0) & ~own[:, :most]
        if self.without_self:  # the query moves from the finest level to the items that match nothing
            counts = counts.clone()
            counts[:, depth] -= own.sum(1)
            counts[:, 0] += own.sum(1)
        relevance = self.measure.relevance(counts, scores.dtype).gather(1, level)

        rows = scores[:, :most]
        near = ((scores / self.tau)[:, None, :] - (rows / self.tau)[:, :, None]).sigmoid_()
        if not self.self_in_rank:
            near.masked_fill_(own[:, None, :], 0.0)
        weight = torch.minimum(relevance[:, None, :], relevance[:, :most, None])
        # An item's sigmoid against itself is a half: leave it out of the rank, make it whole in the count above.
        rank = 0.5 + near.sum(-1)
        above = 0.5 * relevance[:, :most] + (weight * near).sum(-1)
        share, by_rank, by_above = self.measure.shares(rank, above, level[:, :most], valid, counts, scores.shape[1])
        by_pair = by_rank[:, :, None]
        if by_above is not None:
            by_pair = weight.mul_(by_above[:, :, None]).add_(by_pair)
        pulled = near.addcmul_(near, near, value=-1).mul_(1.0 / self.tau).mul_(by_pair)
        slope = pulled.sum(1)
        slope[:, :most] -= pulled.sum(2)
        return share, slope


class _Walk(torch.autograd.Function):
    """As the Sup walk; kept apart because here all of a query's positives are ranked together."""

    @staticmethod
    def forward(ctx, similarity: Tensor, plan: Layout, ranker: SmoothRank, own: np.ndarray | None) -> Tensor:
        # a query itself is no positive
        least = None if own is None else 1 + (own >= 0)
        if ranker.budget is None and _fused.serves(similarity):
            absent = own if not ranker.self_in_rank else None
            loss, slope = _fused.smooth(similarity, plan, ranker.tau, ranker.measure, least, own, absent)
        else:
            loss, slope = _walk(similarity, plan, ranker, least, own)
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (slope,) = ctx.saved_tensors
        return slope * grad, None, None, None


def _walk(
    similarity: Tensor, plan: Layout, ranker: SmoothRank, least: np.ndarray | None, own: np.ndarray | None
) -> tuple[Tensor, Tensor]:
    """The loss and d loss / d similarity ``[B, G]``, chunk by chunk."""
    budget = ranker.budget or (GPU_PAIRS if similarity.is_cuda else CPU_PAIRS)
    queries, parts = chunks(plan, budget, every=True, least=least)
    there = send_plan(plan, queries, own, similarity.device)
    slope, total = torch.zeros_like(similarity), similarity.new_zeros(())
    for chunk in parts:
        asking, row = there.queries[chunk.part], there.row[chunk.part]
        order = there.order.index_select(0, row).long()
        mine = order == there.own[chunk.part, None]
        most = min(sum(chunk.most[1:]), order.shape[1])
        scores = similarity.index_select(0, asking).gather(1, order)
        share, pulled = ranker.chunk(scores, there.counts.index_select(0, row), mine, most)
        slope.index_copy_(0, asking, torch.empty_like(pulled).scatter_(1, order, pulled))
        total += (1.0 - share).sum()
    asked = max(1, len(queries))
    return total / asked, slope.mul_(-1.0 / asked)
