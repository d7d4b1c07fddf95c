"""Ranks made smooth by replacing every step with a sigmoid: Smooth-AP and its relatives.

rank(i) = 1 + sum_{j != i} sig((s_j - s_i) / tau) over every gallery item j (Brown et al. 2020, Eq. 5-7); the weighted
count above i gets the same sigmoids. Positives alone are ranked, in chunks of queries, gradient formed at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from trainers.devices.host import host
from trainers.losses import _compiled_ranks
from trainers.losses._batch import PairBatch
from trainers.losses._layout import make_layout
from trainers.losses._rank_measures import Measure
from trainers.losses._sup_rank import WithSlope, walk


@dataclass(frozen=True, kw_only=True)
class SmoothRank:
    """The ranker of a Smooth-* loss.

    Attributes:
        tau: the sigmoid's width.
        measure: the score of a query's ranks.
        without_self: the query is no positive of itself, though it stays among the items that push positives down
            (the code of Patel et al.).
        self_in_rank: whether it stays among them; off: it is left out of the list.
        budget: as in :class:`trainers.losses._sup_rank.SupRank`.
    """

    tau: float
    measure: Measure
    without_self: bool = False
    self_in_rank: bool = True
    budget: int | None = None
    surrogate: ClassVar = "smooth"

    def loss(self, batch: PairBatch) -> Tensor:
        """Return the mean of 1 - score over the queries with a positive; 0, with zero gradient, when there is none."""
        similarity, layout = batch.similarity.detach(), make_layout(batch.labels, batch.gallery_labels)
        self_index = host(batch.itself) if self.without_self and batch.itself is not None else None
        least = None if self_index is None else 1 + (self_index >= 0)  # a query itself is no positive
        if self.budget is None and _compiled_ranks.serves(similarity, self.surrogate):
            absent = None if self.self_in_rank else self_index
            solution = _compiled_ranks.smooth(similarity, layout, self.tau, self.measure, least, self_index, absent)
        else:
            solution = walk(similarity, layout, self.chunk, self.budget, every=True, least=least, self_index=self_index)
        loss: Tensor = WithSlope.apply(batch.similarity, *solution)
        return loss

    def chunk(
        self, scores: Tensor, counts: Tensor, self_mask: Tensor | None, most: Sequence[int], budget: int
    ) -> tuple[Tensor, Tensor]:
        """Compute as :meth:`trainers.losses._sup_rank.SupRank.chunk` does, all of a query's pairs at once.

        Args:
            self_mask: ``[b, G]`` bool, the query itself where it must not count as a positive; None: it may everywhere.
            scores, counts, most, budget: as there.
        """
        depth, width = counts.shape[1] - 1, sum(most[1:])
        ends = counts.flip(1).cumsum(1)[:, :-1]  # where each level from the finest ends
        position = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
        level = depth - torch.searchsorted(ends.contiguous(), position.contiguous(), right=True)
        valid = level[:, :width] > 0
        if self_mask is not None:  # the query moves from the finest level to the items that match nothing
            valid, counts = valid & ~self_mask[:, :width], counts.clone()
            counts[:, depth] -= self_mask.sum(1)
            counts[:, 0] += self_mask.sum(1)
        relevance = self.measure.relevance(counts, scores.dtype).gather(1, level)

        rows = scores[:, :width]
        near = ((scores / self.tau)[:, None, :] - (rows / self.tau)[:, :, None]).sigmoid_()
        if self_mask is not None and not self.self_in_rank:
            near.masked_fill_(self_mask[:, None, :], 0.0)
        weight = torch.minimum(relevance[:, None, :], relevance[:, :width, None])
        # An item's sigmoid against itself is a half: leave it out of the rank, make it whole in the count above.
        rank = 0.5 + near.sum(-1)
        above = 0.5 * relevance[:, :width] + (weight * near).sum(-1)
        share, by_rank, by_above = self.measure.shares(rank, above, level[:, :width], valid, counts, scores.shape[1])
        by_pair = by_rank[:, :, None]
        if by_above is not None:
            by_pair = weight.mul_(by_above[:, :, None]).add_(by_pair)
        pulled = near.addcmul_(near, near, value=-1).mul_(1.0 / self.tau).mul_(by_pair)
        slope = pulled.sum(1)
        slope[:, :width] -= pulled.sum(2)
        return share, slope
