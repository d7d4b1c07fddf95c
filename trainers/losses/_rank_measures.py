"""Scores of a query as functions of its positives' ranks: AP and H-AP, NDCG, recall at k.

A measure turns the ranks of some of a query's positives into their share of the query's score. Relevances and
normalisers come from level counts alone and carry no gradient.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.errors import UserError


class Measure(ABC):
    """A score in [0, 1] per query, a sum over its positives."""

    def relevance(self, counts: Tensor, dtype: torch.dtype) -> Tensor:
        """Return ``[b, L + 1]`` relevance of an item at each level count; ``counts`` is ``[b, L + 1]``."""
        present = counts > 0
        present[:, 0] = False
        return present.to(dtype)

    @abstractmethod
    def shares(
        self, rank: Tensor, above: Tensor, level: Tensor, valid: Tensor, counts: Tensor, size: int
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Compute the listed positives' share of each query's score, and its derivatives; no autograd.

        Args:
            rank: ``[b, R]`` surrogate ranks.
            above: ``[b, R]`` rank+ weighted by relevance (H-rank); the plain rank+ when relevance is 0 or 1.
            level: ``[b, R]`` int64 level counts.
            valid: ``[b, R]`` bool, False at fillers.
            counts: ``[b, L + 1]`` items of the gallery at each level.
            size: items of the gallery, G.

        Returns:
            ``[b]`` shares, and ``[b, R]`` d share / d rank and d share / d above; None: it does not depend on it.
        """


@dataclass(frozen=True, kw_only=True)
class AveragePrecision(Measure):
    """H-AP: sum of hrank / rank over the sum of relevances; plain AP when there is one level.

    Relevance (l / L)^alpha / #{items at exactly l} (HAPPIER, Eq. 20 of Ramzi et al. 2023).
    """

    alpha: float = 1.0

    def relevance(self, counts: Tensor, dtype: torch.dtype) -> Tensor:
        depth = counts.shape[1] - 1
        level = torch.arange(depth + 1, device=counts.device, dtype=dtype) / depth
        return torch.where((counts > 0) & (level > 0), level**self.alpha / counts.clamp(min=1), 0.0)

    def shares(
        self, rank: Tensor, above: Tensor, level: Tensor, valid: Tensor, counts: Tensor, size: int
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        total = (self.relevance(counts, rank.dtype) * counts).sum(1)
        by_above = valid / (rank * total[:, None])
        precision = above * by_above
        return precision.sum(1), -precision / rank, by_above


@dataclass(frozen=True, kw_only=True)
class WeightedAveragePrecision(AveragePrecision):
    """H-AP with rel(j) = sum_{p <= l_j} w_p / #{items of level >= p}: the w-weighted mean of the levels' APs.

    Attributes:
        weights: coarse to fine, one per level; None: equal weights.
    """

    weights: tuple[float, ...] | None = None

    def relevance(self, counts: Tensor, dtype: torch.dtype) -> Tensor:
        depth = counts.shape[1] - 1
        weights = self.weights if self.weights is not None else (1.0 / depth,) * depth
        if len(weights) != depth:
            raise UserError(
                f"The weighted H-AP needs one weight per level: the labels have {depth}; got {len(weights)} weights."
            )
        at_least = counts.flip(1).cumsum(1).flip(1)
        room = at_least.clamp(min=1).to(dtype)
        # Number by number: a tensor of the weights would have to be sent to the device.
        terms = torch.stack([weight / room[:, v] for v, weight in enumerate((0.0, *weights))], dim=1)
        return torch.where(counts > 0, terms.cumsum(1), 0.0)


@dataclass(frozen=True, kw_only=True)
class DiscountedGain(Measure):
    """NDCG with gain 2^l - 1 and discount log2(1 + rank)."""

    def shares(
        self, rank: Tensor, above: Tensor, level: Tensor, valid: Tensor, counts: Tensor, size: int
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        gain = valid * (torch.exp2(level.to(rank.dtype)) - 1.0)
        discount = torch.log2(1.0 + rank)
        parts = gain / (discount * self.ideal(counts, rank.dtype, size)[:, None])
        return parts.sum(1), -parts / (discount * (1.0 + rank) * math.log(2.0)), None

    @staticmethod
    def ideal(counts: Tensor, dtype: torch.dtype, size: int) -> Tensor:
        """Return the DCG of the perfect order, ``[b]``: the finest level fills the first ranks, then the next."""
        ranks = torch.arange(1, size + 1, device=counts.device, dtype=torch.float64)
        discount = torch.cat([ranks.new_zeros(1), (1.0 / torch.log2(1.0 + ranks)).cumsum(0)])
        last = counts.flip(1).cumsum(1).flip(1)
        gain = torch.exp2(torch.arange(counts.shape[1], device=counts.device, dtype=torch.float64)) - 1.0
        return (gain * (discount[last] - discount[last - counts])).sum(1).to(dtype)


@dataclass(frozen=True, kw_only=True)
class Recall(Measure):
    """Mean over k of (1 / min(k, positives)) sum_i sig((k - rank_i) / temp_k).

    Attributes:
        at_k: the cut-offs.
        temps: one temperature per cut-off.
        clip: Patel et al. bound each sum by k and each k by the gallery's size.
    """

    at_k: tuple[int, ...]
    temps: tuple[float, ...]
    clip: bool = False

    def shares(
        self, rank: Tensor, above: Tensor, level: Tensor, valid: Tensor, counts: Tensor, size: int
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        positives = counts[:, 1:].sum(1)
        score, by_rank = torch.zeros_like(rank[:, 0]), torch.zeros_like(rank)
        for k, temp in zip(self.at_k, self.temps, strict=True):
            k = min(k, size) if self.clip else k
            near = valid * torch.sigmoid((k - rank) / temp)
            hits, room = near.sum(1), len(self.at_k) * positives.clamp(max=k).to(rank.dtype)
            free = (hits <= k) / room if self.clip else 1.0 / room
            score = score + (hits.clamp(max=k) if self.clip else hits) / room
            by_rank = by_rank - free[:, None] * near * (1.0 - near) / temp
        return score, by_rank, None
