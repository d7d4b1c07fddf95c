"""Rank losses, bounded or smooth, and the terms that make them decomposable, weighted as published.

Rank losses with a bounded rank: mean over queries of 1 - score, with the gradient formed in the forward pass.

Ramzi et al. 2023, Eq. 3-5: rank(i) = rank+(i) + sum over less relevant j of H-(s_j - s_i), where rank+ counts items at
least as relevant with the true step (no gradient). Only a query's positives are ranked, queries are computed in chunks,
and d loss / d similarity is one ``[B, G]`` matrix, so no ``[B, G, G]`` tensor is stored.

Ranks made smooth by replacing every step with a sigmoid: Smooth-AP and its relatives.

rank(i) = 1 + sum_{j != i} sig((s_j - s_i) / tau) over every gallery item j (Brown et al. 2020, Eq. 5-7); the weighted
count above i gets the same sigmoids. Positives alone are ranked, in chunks of queries, gradient formed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainers.devices.host import host
from trainers.losses import _compiled_ranks
from trainers.losses._batch import Batch
from trainers.losses._bound import BoundParameters, RankBound, RankMeasure, SmoothLift, bound_pull
from trainers.losses._layout import FAR, GalleryLayout, chunks, make_layout, segment, send_layout
from trainers.losses.base import LossModule
from trainers.losses.calibration import MEAN_OVER, MEAN_OVER_HELP, calibration
from trainers.losses.proxies import draw_proxies, proxy_softmax
from trainers.parameters import parameter

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

    bound: RankBound
    measure: RankMeasure
    lift: SmoothLift | None = None
    budget: int | None = None
    surrogate: ClassVar = "sup"

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean of 1 - score over the queries with a positive; 0, with zero gradient, when there is none."""
        similarity, layout = batch.similarity.detach(), make_layout(batch.labels, batch.other_labels)
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
    layout: GalleryLayout,
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


@dataclass(frozen=True, kw_only=True)
class SmoothRank:
    """The ranker of a Smooth-* loss.

    Attributes:
        tau: the sigmoid's width.
        measure: the score of a query's ranks.
        without_self: the query is no positive of itself, though it stays among the items that push positives down
            (the code of Patel et al.).
        self_in_rank: whether it stays among them; off: it is left out of the list.
        budget: as in :class:`trainers.losses._rank_loss.SupRank`.
    """

    tau: float
    measure: RankMeasure
    without_self: bool = False
    self_in_rank: bool = True
    budget: int | None = None
    surrogate: ClassVar = "smooth"

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean of 1 - score over the queries with a positive; 0, with zero gradient, when there is none."""
        similarity, layout = batch.similarity.detach(), make_layout(batch.labels, batch.other_labels)
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
        """Compute as :meth:`trainers.losses._rank_loss.SupRank.chunk` does, all of a query's pairs at once.

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


def temperature() -> Any:
    """Return the parameter ``temperature``."""
    return parameter(0.05, low=0.005, high=1.0, log=True, help="Temperature of the proxy softmax.")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of the three terms; a term of weight zero is left out."""

    rank: float = 1.0
    calibration: float = 0.0
    proxy: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProxyTermParameters:
    """The weights of a rank term and a proxy softmax, and the softmax's temperature."""

    weight_rank: float = parameter(0.9, low=0.0, high=10.0, help="Weight of the rank term.")
    weight_proxy: float = parameter(0.1, low=0.0, high=10.0, help="Weight of the proxy softmax on the finest level.")
    temperature: float = temperature()

    @property
    def weights(self) -> Weights:
        """Both weights."""
        return Weights(rank=self.weight_rank, proxy=self.weight_proxy)


@dataclass(frozen=True, kw_only=True)
class DecomposableParameters(BoundParameters):
    """The bound's parameters and those of the second term, pairs or proxies."""

    weight_proxy: float | None = parameter(
        None,
        low=0.0,
        high=10.0,
        help="Weight of the proxy softmax (Eq. 8); empty: as the terms say, or 0 if the pairs have a weight.",
    )
    weight_calibration: float | None = parameter(
        None,
        low=0.0,
        high=10.0,
        help="Weight of the pair calibration (Eq. 7); empty: as the terms say, or 0 if the proxies have a weight.",
    )
    temperature: float = temperature()
    pos_margin: float = parameter(
        0.9, low=-1.0, high=1.0, help="Calibration: same-class pairs below this cosine are pulled."
    )
    neg_margin: float = parameter(
        0.6, low=-1.0, high=1.0, help="Calibration: other pairs above this cosine are pushed."
    )
    mean_over: str = parameter("active", choices=MEAN_OVER, help=f"Calibration: {MEAN_OVER_HELP}")


def weigh(parameters: DecomposableParameters, rank: float | None, published: Weights) -> Weights:
    """Return the weights given, and the published ones where none was given.

    Who names the weight of one second term has chosen it: the other is then left out unless it is named too.

    Args:
        parameters: with the weights of the second terms, or None.
        rank: the rank term's weight, or None.
        published: what stands where nothing was given.
    """
    pairs, proxies = parameters.weight_calibration, parameters.weight_proxy
    if pairs is None and proxies is None:
        pairs, proxies = published.calibration, published.proxy
    return Weights(rank=published.rank if rank is None else rank, calibration=pairs or 0.0, proxy=proxies or 0.0)


def described(published: Mapping[str, tuple[Weights, str]]) -> str:
    """Return the published settings in one sentence, for the help of the parameter that chooses one."""
    return f"{'; '.join(f'{name}: {source}' for name, (_, source) in published.items())}. A weight given wins."


class RankLoss(LossModule):
    """weights.rank * rank loss + weights.calibration * pair calibration + weights.proxy * proxy softmax.

    The query is its own positive in the rank term and no pair with itself in the calibration; so is its copy in a
    memory.

    Args:
        ranker: ranks and scores each query.
        name: key of the rank term.
        finest: read the finest label level only; off: all levels.
        weights: of the three terms.
        parameters: of the second terms.
        num_classes, dim: shape of the proxies.
    """

    takes_views = False

    def __init__(
        self,
        ranker: SupRank | SmoothRank,
        *,
        name: str,
        finest: bool = False,
        weights: Weights = Weights(),
        parameters: ProxyTermParameters | DecomposableParameters | None = None,
        num_classes: int = 0,
        dim: int = 0,
        class_labels: Tensor | None = None,
    ) -> None:
        super().__init__(parameters)
        self.ranker, self.name, self.finest, self.weights = ranker, name, finest, weights
        if weights.proxy > 0:
            self.proxies = draw_proxies(num_classes, dim)

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return the rank term by its name, then ``calibration`` and ``proxy`` where their weights are above zero."""
        given, weights = self.settings, self.weights
        parts = {self.name: weights.rank * self.ranker.loss(batch)}
        if weights.calibration > 0:
            hinges = calibration(batch, given.pos_margin, given.neg_margin, given.mean_over)
            parts["calibration"] = weights.calibration * hinges
        if weights.proxy > 0:
            loss = proxy_softmax(batch.rows, batch.labels, self.proxies, given.temperature)
            parts["proxy"] = weights.proxy * loss
        return parts
