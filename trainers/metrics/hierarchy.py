"""Metrics with graded relevance from a label tree: H-AP, NDCG, ASI, by running counts per level, O(L G) a list."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.metrics.ranked_lists import RankedBlock


def hierarchical_ap(block: RankedBlock, *, alpha: float = 1.0, count_query: bool = False) -> Tensor:
    """H-AP: (1 / sum rel) sum_i (1 / rank_i) sum_{j up to rank_i} min(rel_i, rel_j). float64 ``[b]``, NaN if undefined.

    Relevance of an item that shares l of L levels: (l/L)^alpha / (number of items that share exactly l).
    Ramzi et al., "Hierarchical Average Precision Training for Pertinent Image Retrieval", ECCV 2022.

    Items are told apart by level, not by relevance: two levels can have the same relevance, and an item must not
    count twice then.

    Args:
        alpha: how steeply relevance rises with the level.
        count_query: the query counts among the items of its finest level, as in the published tables.
    """
    depth = block.legend.depth
    counts = block.counts
    share = counts.double()
    share[:, depth] += float(count_query)
    weight = torch.arange(depth + 1, dtype=torch.float64, device=share.device).div(depth).pow(alpha)
    relevance = torch.where(counts > 0, weight / share.clamp(min=1), 0.0)
    relevance[:, 0] = 0.0
    own = relevance.reshape(-1).index_select(0, block.row * (depth + 1) + block.level)
    hrank = torch.zeros_like(own)
    for other, so_far in enumerate(block.so_far, start=1):
        hrank += torch.minimum(own, block.spread(relevance[:, other])) * so_far
    total = (relevance * counts).sum(1)
    return block.per_list(hrank / block.rank) / torch.where(total > 0, total, torch.nan)


def ndcg(block: RankedBlock) -> Tensor:
    """NDCG with gain 2^l - 1 and discount log2(1 + rank), over the whole list. float64 ``[b]``, NaN if undefined.

    Croft et al., "Search Engines: Information Retrieval in Practice", 2009.
    """
    depth = block.legend.depth
    counts = block.counts
    steps = torch.arange(1, block.codes.shape[1] + 1, dtype=torch.float64, device=counts.device)
    discount = torch.log2(1 + steps).reciprocal()
    gain = torch.exp2(torch.arange(depth + 1, dtype=torch.float64, device=counts.device)) - 1
    got = block.per_list(gain.index_select(0, block.level) * discount.index_select(0, block.rank - 1))
    until = torch.cat([discount.new_zeros(1), discount.cumsum(0)])
    last = counts.flip(1).cumsum(1).flip(1)  # in the ideal list level v ends at the number of items at v or above
    ideal = torch.zeros_like(got)
    for level in range(1, depth + 1):
        ideal += gain[level] * (until[last[:, level]] - until[last[:, level] - counts[:, level]])
    return got / torch.where(ideal > 0, ideal, torch.nan)


def asi(block: RankedBlock) -> Tensor:
    """ASI: mean over n = 1..N of SI(n) / n, N the number of items sharing any level. float64 ``[b]``, NaN if undefined.

    SI(n) = sum over levels of min(items of the level in the first n, items of it in the ideal first n).
    Sun et al., "Dynamic Metric Learning: Towards a Scalable Metric Space to Accommodate Multiple Semantic Scales",
    CVPR 2021.
    """
    counts = block.counts
    last = counts.flip(1).cumsum(1).flip(1)
    n = torch.arange(len(block.row), device=counts.device) - block.spread(block.start) + 1
    # The first N of a list are as many entries as its relevant items, so they share the block's row layout.
    head = block.codes.reshape(-1).index_select(0, block.row * block.codes.shape[1] + n - 1)
    head = head if block.legend.tree else block.legend.level.index_select(0, head)
    common = torch.zeros_like(n)
    for level in range(1, block.legend.depth + 1):
        so_far = block.running(head == level)
        size = block.spread(counts[:, level])
        above = block.spread((last - counts)[:, level])
        common += torch.minimum(so_far, torch.minimum((n - above).clamp(min=0), size))
    return block.per_list(common.double() / n) / torch.where(block.size > 0, block.size.double(), torch.nan)
