"""Scores of a query as functions of its positives' ranks: AP and H-AP, NDCG, recall at k; and the upper bound on the
step function that counts wrongly ranked items, with its sums over pairs.

A measure turns the ranks of some of a query's positives into their share of the query's score. Relevances and
normalisers come from level counts alone and carry no gradient.

Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval" (NeurIPS 2021), Eq. 3-5 of the later
"Optimization of Rank Losses for Image Retrieval" (2023): with t = s_j - s_i and j less relevant than i,

    H-(t) = sig(t/tau)               t <= 0
          = sig(t/tau) + start       0 < t <= delta
          = rho (t - delta) + offset t > delta

delta is where the sigmoid has become flat, delta = tau ln((1 - eps) / eps) (appendix A-C of the same): it follows tau.
The paper says eps = 0.01 and prints delta = 0.05 for tau = 0.01, which is 0.046 rounded. The eps for which the printed
number, and every published setting, is exact is 1 / (1 + e^5) = 0.0067, and then delta is 5 tau.

Two exact forms of the same sum. ``_dense`` evaluates every branch for every pair and suits a few ranked items.
``_sorted`` suits many: the steps and the linear part come from sorting and running sums, so that one sigmoid is left
for each pair.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.errors import UserError
from trainers.parameters import parameter


class RankMeasure(ABC):
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
class AveragePrecision(RankMeasure):
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
class DiscountedGain(RankMeasure):
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
class Recall(RankMeasure):
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


DELTA_IN_TAUS = 5.0  # ln((1 - eps) / eps)

# start and offset as published with each set of numbers; an offset of None makes the bound continuous at delta.
PRESETS = {"paper": (0.5, None), "sop": (0.5, 1.44), "inat": (0.0, 1.0), "custom": (0.5, None)}

DIFFERS = (
    "The bound is the paper's, continuous at delta; the published code has a step down there for SOP and less than the "
    "true count below it for iNaturalist (`preset`)."
)


@dataclass(frozen=True, kw_only=True)
class SigmoidParameters:
    """The sigmoid's width: all that a Smooth-* loss has, and the bound too."""

    tau: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid; small is close to true counting."
    )


@dataclass(frozen=True, kw_only=True)
class BoundParameters(SigmoidParameters):
    """The bound's shape, shared by every loss that uses it."""

    rho: float = parameter(
        100.0, low=0.0, high=1000.0, help="Slope beyond delta: the constant pull on badly ranked items."
    )
    delta: float | None = parameter(
        None,
        low=0.0,
        high=1.0,
        help="Similarity gap beyond which the bound grows in a line; empty is 5 tau, where the sigmoid is flat.",
    )
    start: float | None = parameter(
        None, low=0.0, high=2.0, help="Jump at a gap of zero; empty takes the preset's (paper 0.5)."
    )
    offset: float | None = parameter(
        None, low=0.0, high=10.0, help="Height just beyond delta; empty takes the preset's (paper: continuous)."
    )
    preset: str = parameter(
        "paper",
        choices=tuple(PRESETS),
        help="paper is continuous at delta; sop and inat rerun published tables; a start or offset given here wins.",
    )


@dataclass(frozen=True, kw_only=True)
class RankBound:
    """The resolved bound: every number known."""

    tau: float
    rho: float
    delta: float
    start: float
    offset: float

    @property
    def edge(self) -> float:
        """sig(delta / tau), the sigmoid's height at delta."""
        return 1.0 / (1.0 + math.exp(-self.delta / self.tau))

    @property
    def edge_slope(self) -> float:
        """The sigmoid's slope at delta, per unit of similarity."""
        return self.edge * (1.0 - self.edge) / self.tau


def resolve(parameters: BoundParameters) -> RankBound:
    """Fill delta from tau, and start and offset from the preset, where they were not given."""
    delta = parameters.delta if parameters.delta is not None else DELTA_IN_TAUS * parameters.tau
    start, offset = PRESETS[parameters.preset]
    start = parameters.start if parameters.start is not None else start
    offset = parameters.offset if parameters.offset is not None else offset
    if offset is None:
        offset = start + 1.0 / (1.0 + math.exp(-delta / parameters.tau))
    return RankBound(tau=parameters.tau, rho=parameters.rho, delta=delta, start=start, offset=offset)


@dataclass(frozen=True, kw_only=True)
class SmoothLift:
    """A step with a slope, for finer items counted above coarser ones (Ramzi et al. 2022, smooth H-rank).

    leak * t for t <= 0, min(beta * t + gamma, 1) for t > 0.
    """

    beta: float
    leak: float
    gamma: float

    def value(self, gap: Tensor) -> Tensor:
        """Return the height at each gap."""
        return torch.where(gap > 0, (self.beta * gap + self.gamma).clamp(max=1.0), self.leak * gap)

    def slope(self, gap: Tensor) -> Tensor:
        """Return the slope at each gap."""
        rising = self.beta * (self.beta * gap + self.gamma < 1.0).to(gap.dtype)
        return torch.where(gap > 0, rising, self.leak)


# Given the pair sums of a slice of ranked items [b, r], return d loss / d sum [b, r].
Pull = Callable[[Tensor, slice], Tensor]

# Up to this many ranked items of a query the dense form is faster.
FEW = 12


def bound_pull(rows: Tensor, columns: Tensor, bound: RankBound, pull: Pull, budget: int) -> tuple[Tensor, Tensor]:
    """Sum H-(s_j - s_i) over columns j for each row i, get the loss's slope from ``pull``, apply the chain rule.

    Args:
        rows: ``[b, R]`` ascending similarities of the ranked items; fillers far above every column, with slope zero.
        columns: ``[b, C]`` similarities of the less relevant items; fillers far below every row.
        bound: the bound's shape.
        pull: called once for each slice of rows, with their sums.
        budget: largest number of pairs held at once (at least one row's).

    Returns:
        ``[b, R]`` d loss / d rows and ``[b, C]`` d loss / d columns.
    """
    step = max(1, budget // max(1, columns.numel()))
    walk = _dense if rows.shape[1] <= FEW else _sorted
    return walk(rows, columns, bound, pull, step)


def _dense(rows: Tensor, columns: Tensor, bound: RankBound, pull: Pull, step: int) -> tuple[Tensor, Tensor]:
    to_rows, to_columns = torch.zeros_like(rows), torch.zeros_like(columns)
    for first in range(0, rows.shape[1], step):
        part = slice(first, min(first + step, rows.shape[1]))
        gap = columns[:, None, :] - rows[:, part, None]
        # Masks are written as numbers into one buffer: several times faster than Booleans on a processor.
        mask = torch.empty_like(gap)
        above = torch.gt(gap, 0, out=mask).sum(-1)
        beyond = torch.gt(gap, bound.delta, out=mask).sum(-1)
        near = gap.div(bound.tau).sigmoid_()
        near.addcmul_(near, mask, value=-1)
        line = gap.sub_(bound.delta).clamp_(min=0).sum(-1)
        steps = bound.start * (above - beyond) + bound.offset * beyond
        pulled = pull(near.sum(-1) + steps + bound.rho * line, part)
        # The sigmoid's slope is near (1 - near) / tau; the division is left for the sums.
        slope = near.addcmul_(near, near, value=-1).add_(mask, alpha=bound.rho * bound.tau)
        to_rows[:, part] = -pulled * slope.sum(-1) / bound.tau
        to_columns += torch.bmm(pulled[:, None, :], slope)[:, 0] / bound.tau
    return to_rows, to_columns


def _sorted(rows: Tensor, columns: Tensor, bound: RankBound, pull: Pull, step: int) -> tuple[Tensor, Tensor]:
    low, back = columns.sort(-1)
    known, far = _steps_and_line(rows, low, bound)
    to_rows, to_low, pulls = torch.zeros_like(rows), torch.zeros_like(low), torch.zeros_like(rows)
    edge, slope = bound.edge, bound.edge_slope
    for first in range(0, rows.shape[1], step):
        part = slice(first, min(first + step, rows.shape[1]))
        near = _near(low, rows[:, part], bound)
        # Pairs beyond delta stand at the sigmoid's height there; take that out, the line is already in.
        pulled = pull(known[:, part] + near.sum(-1) - far[:, part] * edge, part)
        near = near.addcmul_(near, near, value=-1)
        to_rows[:, part] = -pulled * (near.sum(-1) / bound.tau + far[:, part] * (bound.rho - slope))
        to_low += torch.bmm(pulled[:, None, :], near)[:, 0] / bound.tau
        pulls[:, part] = pulled
    running = torch.zeros(len(rows), rows.shape[1] + 1, dtype=torch.float64, device=rows.device)
    running[:, 1:] = pulls.double().cumsum(-1)
    passed = torch.searchsorted((rows + bound.delta).contiguous(), low)
    to_low += ((bound.rho - slope) * running.gather(1, passed)).to(low.dtype)
    return to_rows, torch.empty_like(to_low).scatter_(1, back, to_low)


def _steps_and_line(rows: Tensor, low: Tensor, bound: RankBound) -> tuple[Tensor, Tensor]:
    """Return all of the bound but its sigmoid, ``[b, R]``, and the number of columns beyond delta, ``[b, R]``."""
    width = low.shape[1]
    # Running sums in double precision: the linear part is a difference of two large sums.
    tail = torch.zeros(len(low), width + 1, dtype=torch.float64, device=low.device)
    tail[:, :width] = low.double().flip(-1).cumsum(-1).flip(-1)
    edges = rows + bound.delta
    above = torch.searchsorted(low, rows, right=True)
    beyond = torch.searchsorted(low, edges, right=True)
    far = width - beyond
    line = tail.gather(1, beyond) - far * edges.double()
    known = bound.rho * line + bound.start * (beyond - above).double() + bound.offset * far.double()
    return known.to(rows.dtype), far.to(rows.dtype)


def _near(low: Tensor, rows: Tensor, bound: RankBound) -> Tensor:
    """Return sig(min(s_j - s_i, delta) / tau), ``[b, r, c]``, in one buffer."""
    gap = (low / bound.tau)[:, None, :] - (rows / bound.tau)[:, :, None]
    return gap.clamp_(max=bound.delta / bound.tau).sigmoid_()
