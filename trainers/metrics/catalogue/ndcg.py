"""NDCG, over the whole list and over its first k items."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from trainers.metrics.measure import Measure
from trainers.metrics.ranking import Lists


def ndcg(lists: Lists, k: int | None, _level: int) -> Tensor:
    """Return NDCG with gain 2^l - 1 and discount log2(1 + rank), over the first k items (None: the whole list).

    The exponential gain is that of Croft et al., "Search Engines: Information Retrieval in Practice", 2009, as in Ramzi
    et al. 2023; Järvelin and Kekäläinen 2002 take the relevance itself. The ideal is the best order of the whole list
    cut at k, not of the k items that were found.

    Returns:
        float64 ``[b]``, NaN if undefined.
    """
    block, depth = lists.block, lists.block.legend.depth
    counts, length = block.counts, block.codes.shape[1]
    steps = torch.arange(1, length + 1, dtype=torch.float64, device=counts.device)
    discount = torch.log2(1 + steps).reciprocal()
    if k is not None:
        discount[k:] = 0.0
    gain = torch.exp2(torch.arange(depth + 1, dtype=torch.float64, device=counts.device)) - 1
    got = block.per_list(gain.index_select(0, block.level) * discount.index_select(0, block.rank - 1))
    until = torch.cat([discount.new_zeros(1), discount.cumsum(0)])
    last = counts.flip(1).cumsum(1).flip(1)  # in the ideal list level v ends at the number of items at v or above
    ideal = torch.zeros_like(got)
    for level in range(1, depth + 1):
        ideal += gain[level] * (until[last[:, level]] - until[last[:, level] - counts[:, level]])
    return got / torch.where(ideal > 0, ideal, torch.nan)


_WHOLE = Measure(
    name="NDCG",
    title="NDCG",
    sentence="Gain of each result, 2^l - 1 for l levels shared, discounted by rank, divided by that of the best order.",
    family="ranking",
    paper="Cumulated Gain-Based Evaluation of IR Techniques, Järvelin and Kekäläinen, TOIS 2002",
    url="https://doi.org/10.1145/582415.582418",
    equation=r"NDCG=\frac{1}{IDCG}\sum_i\frac{2^{l_i}-1}{\log_2(1+\mathrm{rank}_i)}",
    symbols={
        "IDCG": "the sum for the best possible order",
        "l_i": "number of levels of the label tree that result i shares with the query",
        r"\mathrm{rank}_i": "rank of result i",
    },
    order=80,
    score=ndcg,
)
DESCRIPTORS = (
    _WHOLE,
    replace(
        _WHOLE,
        name="NDCG_at_k",
        title="NDCG@k",
        sentence="NDCG over the top-k results, divided by that of the k best images there are.",
        equation=r"NDCG@k=\frac{1}{IDCG@k}\sum_{\mathrm{rank}_i\le k}\frac{2^{l_i}-1}{\log_2(1+\mathrm{rank}_i)}",
        symbols={
            "IDCG@k": "the sum for the best possible order",
            "l_i": "number of levels of the label tree that result i shares with the query",
            r"\mathrm{rank}_i": "rank of result i",
            "k": "the cut-off",
        },
        order=81,
        offered=("NDCG_at_10",),
    ),
)
