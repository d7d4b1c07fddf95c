"""H-AP."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.metrics.measure import Measure
from trainers.metrics.ranked_lists import RankedBlock
from trainers.metrics.ranking import Lists


def hierarchical_ap(lists: Lists, _k: int | None, _level: int) -> Tensor:
    """Return H-AP: (1 / sum rel) sum_i (1 / rank_i) sum_{j up to rank_i} min(rel_i, rel_j).

    Returns:
        float64 ``[b]``, NaN if undefined.
    """
    block = lists.block
    _, hrank, total = graded(block)
    return block.per_list(hrank / block.rank) / torch.where(total > 0, total, torch.nan)


def graded(block: RankedBlock) -> tuple[Tensor, Tensor, Tensor]:
    """Return relevance of each item, its hierarchical rank sum_{j up to rank_i} min(rel_i, rel_j), and each list's sum
    of rel.

    Relevance of an item that shares l of L levels: (l/L) / (number of items that share exactly l). Items are told apart
    by level, not by relevance: two levels can have the same relevance, and an item must not count twice then. Running
    counts per level make it O(L G) a list.

    Returns:
        float64 ``[P]``, ``[P]`` and ``[b]``.
    """
    depth = block.legend.depth
    counts = block.counts
    weight = torch.arange(depth + 1, dtype=torch.float64, device=counts.device).div(depth)
    relevance = torch.where(counts > 0, weight / counts.clamp(min=1), 0.0)
    relevance[:, 0] = 0.0
    gain = relevance.reshape(-1).index_select(0, block.row * (depth + 1) + block.level)
    hrank = torch.zeros_like(gain)
    for other, so_far in enumerate(block.so_far, start=1):
        hrank += torch.minimum(gain, block.spread(relevance[:, other])) * so_far
    return gain, hrank, (relevance * counts).sum(1)


DESCRIPTOR = Measure(
    name="HAP",
    title="H-AP",
    sentence="AP with graded relevance: a result counts for as much of the label tree as it shares with the query.",
    family="ranking",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV 2022",
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal H\text{-}AP=\frac{1}{\sum_i\mathrm{rel}_i}\sum_i\frac1{\mathrm{rank}_i}"
        r"\sum_{j:\,\mathrm{rank}_j\le\mathrm{rank}_i}\min(\mathrm{rel}_i,\mathrm{rel}_j)"
    ),
    symbols={
        r"\mathrm{rel}_i": "relevance of result i: its share of levels, divided among the images that share as many",
        r"\mathrm{rank}_i": "rank of result i",
        "j": "every result from the first to result i",
    },
    order=70,
    score=hierarchical_ap,
)
