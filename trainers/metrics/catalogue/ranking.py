"""Metrics of ranked lists, on one level of the label tree or on all."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from trainers.metrics.measure import CUT_OFF, INDICATOR, PRECISION, RELEVANCE, RELEVANT, Measure, Source
from trainers.metrics.ranked_lists import Column, Lists, RankedBlock


def whole(lists: Lists, _k: int | None, level: int) -> Tensor:
    """Return (1/R) sum_r P(r) rel(r)."""
    return lists.column(level).average_precision()


def at_r(lists: Lists, _k: int | None, level: int) -> Tensor:
    """Compute the same up to r = R."""
    column = lists.column(level)
    return column.average_precision(column.relevant)


def at_k(lists: Lists, k: int | None, level: int) -> Tensor:
    """Compute the same up to r = k, divided by min(R, k)."""
    column = lists.column(level)
    return column.average_precision(column.cut(k))


_AVERAGE_PRECISION = (
    Measure(
        name="AP",
        title="AP",
        sentence="Precision at each image of the query's class, averaged: 1 when they all come first.",
        family="ranking",
        paper="Introduction to Information Retrieval, Manning et al., 2008, chapter 8",
        url="https://nlp.stanford.edu/IR-book/",
        equation=r"AP=\frac1R\sum_{r}P(r)\,\mathrm{rel}(r)",
        symbols=RELEVANCE | RELEVANT | PRECISION,
        order=20,
        offered=("AP",),
        score=whole,
    ),
    Measure(
        name="AP_at_R",
        title="mAP@R",
        sentence="AP over the first R results, R being the number of images of the query's class.",
        family="ranking",
        each_level=True,
        paper="A Metric Learning Reality Check, Musgrave et al., ECCV 2020",
        url="https://arxiv.org/abs/2003.08505",
        equation=r"AP@R=\frac1R\sum_{r\le R}P(r)\,\mathrm{rel}(r)",
        symbols=RELEVANCE | RELEVANT | PRECISION,
        order=30,
        score=at_r,
    ),
    Measure(
        name="AP_at_k",
        title="mAP@k",
        sentence="AP over the top-k results.",
        family="ranking",
        each_level=True,
        paper="Google Landmarks Dataset v2, Weyand et al., CVPR 2020",
        url="https://arxiv.org/abs/2004.01804",
        equation=r"AP@k=\frac1{\min(R,k)}\sum_{r\le k}P(r)\,\mathrm{rel}(r)",
        symbols=RELEVANCE | RELEVANT | PRECISION | CUT_OFF,
        order=40,
        offered=("AP_at_100",),
        score=at_k,
    ),
    Measure(
        name="AP_level_l",
        title="AP at a level",
        short="AP",
        sentence="AP with every image of the query's class at one level of the label tree relevant.",
        family="ranking",
        paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV 2022",
        url="https://arxiv.org/abs/2207.04873",
        equation=r"AP^{(l)}=\frac1{R_l}\sum_r P_l(r)\,\mathrm{rel}_l(r)",
        symbols={
            "R_l": "number of images of the query's class at level l",
            "P_l(r)": "share of the first r results that are of the query's class at level l",
            r"\mathrm{rel}_l(r)": "1 if the result at rank r is of the query's class at level l, else 0",
        },
        order=100,
        score=whole,
    ),
)


def recall(lists: Lists, k: int | None, level: int) -> Tensor:
    """Return 1 if one of the first k items is relevant, else 0."""
    column = lists.column(level)
    return column.defined(column.hits(column.cut(k)).clamp(max=1))


RECALL = Measure(
    name="R_at_k",
    title="R@k",
    sentence="Share of queries with at least one image of their class among the top-k results.",
    family="ranking",
    each_level=True,
    paper="Product Quantization for Nearest Neighbor Search, Jégou et al., TPAMI 2011",
    url="https://doi.org/10.1109/TPAMI.2010.57",
    equation=r"R@k=\mathbf 1\Big[\sum_{r\le k}\mathrm{rel}(r)>0\Big]",
    symbols=RELEVANCE | CUT_OFF | INDICATOR,
    order=10,
    offered=tuple(f"R_at_{k}" for k in (2, 4, 8, 10, 100, 1000)),  # what the papers report
    score=recall,
)


def precision_at_k(lists: Lists, k: int | None, level: int) -> Tensor:
    """Return the relevant items among the first k, divided by k."""
    column = lists.column(level)
    cut = column.cut(k)
    return column.defined(column.hits(cut) / cut)


def precision_at_r(lists: Lists, _k: int | None, level: int) -> Tensor:
    """Compute the same for k = R."""
    column = lists.column(level)
    return column.defined(column.hits(column.relevant) / column.relevant)


_AT_K = Measure(
    name="P_at_k",
    title="P@k",
    sentence="Share of the top-k results that are of the query's class.",
    family="ranking",
    each_level=True,
    paper="Introduction to Information Retrieval, Manning et al., 2008, chapter 8",
    url="https://nlp.stanford.edu/IR-book/",
    equation=r"P@k=\frac1k\sum_{r\le k}\mathrm{rel}(r)",
    symbols=RELEVANCE | CUT_OFF,
    order=50,
    score=precision_at_k,
)
_PRECISION = (
    _AT_K,
    replace(
        _AT_K,
        name="P_at_R",
        title="P@R",
        sentence="P@k for k = R, the number of images of the query's class: R-precision.",
        equation=r"P@R=\frac1R\sum_{r\le R}\mathrm{rel}(r)",
        symbols=RELEVANCE | RELEVANT,
        order=51,
        offered=("P_at_R",),
        score=precision_at_r,
    ),
)


def true_recall(lists: Lists, k: int | None, level: int) -> Tensor:
    """Return the relevant items among the first k, divided by min(R, k)."""
    column = lists.column(level)
    cut = column.cut(k)
    return column.defined(column.hits(cut) / torch.minimum(cut, column.relevant))


TRUE_RECALL = Measure(
    name="true_R_at_k",
    title="True recall@k",
    sentence="Share of the images of the query's class among the top-k results, out of the most that fit there.",
    family="ranking",
    each_level=True,
    paper="Recall@k Surrogate Loss with Large Batches and Similarity Mixup, Patel et al., CVPR 2022",
    url="https://arxiv.org/abs/2108.11179",
    equation=r"TR@k=\frac1{\min(R,k)}\sum_{r\le k}\mathrm{rel}(r)",
    symbols=RELEVANCE | RELEVANT | CUT_OFF,
    order=60,
    offered=("true_R_at_10",),
    score=true_recall,
)


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


H_AP = Measure(
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


def asi(lists: Lists, _k: int | None, _level: int) -> Tensor:
    """Return ASI: mean over n = 1..N of SI(n) / n, N the number of items sharing any level. float64 ``[b]``, NaN if
    undefined.

    SI(n) = sum over levels of min(items of the level in the first n, items of it in the ideal first n).
    """
    block = lists.block
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


ASI = Measure(
    name="ASI",
    title="ASI",
    sentence="Overlap of the first n results with the best list's, level by level, averaged over n.",
    family="ranking",
    paper="Dynamic Metric Learning, Sun et al., CVPR 2021",
    url="https://arxiv.org/abs/2103.11781",
    equation=r"ASI=\frac1N\sum_{n=1}^N\frac{SI(n)}{n}",
    symbols={
        "N": "number of images that share any level of the label tree with the query",
        "SI(n)": "how many of the first n results would also be among the first n of the best order, level by level",
    },
    order=90,
    score=asi,
)


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
_NDCG = (
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


def mean_ap(lists: Lists, _k: int | None, _level: int) -> Tensor:
    """Return (1/L) sum_l AP^(l) over all L levels. float64 ``[b]``, NaN where a level has nothing to find.

    Sun et al. 2021 report, as do Ramzi et al. 2022, the mean over the levels of each level's mean over queries. It is
    the same number where every query has another image of its class at the finest level; a query that has none is left
    out here at every level, where the code of Ramzi et al. counts it as 0.
    """
    return torch.stack([column.average_precision() for column in _columns(lists)]).mean(0)


def mean_recall(lists: Lists, k: int | None, _level: int) -> Tensor:
    """Return (1/L) sum_l R@k^(l) over all L levels; otherwise as :func:`mean_ap`."""
    recalls = [column.defined(column.hits(column.cut(k)).clamp(max=1)) for column in _columns(lists)]
    return torch.stack(recalls).mean(0)


def weighted_ap(lists: Lists, _k: int | None, _level: int) -> Tensor:
    """Return sum_l w_l AP^(l) with w_l proportional to the number of levels shared, L at the finest and 1 at the
    coarsest.

    Ramzi et al. 2022, property 1: H-AP with the relevance sum_{p <= l_j} w_p / (items that share p levels or more). The
    property holds for any positive weights with sum 1. The weights here are ours: the total weights (l/L)^alpha of Eq.
    20 at the H-AP metric's alpha = 1, scaled to sum 1. Weights that are all equal give :func:`mean_ap`.

    Returns:
        float64 ``[b]``, NaN where a level has nothing to find.
    """
    columns = _columns(lists)
    depth = len(columns)
    total = depth * (depth + 1) / 2
    parts = [(depth - level) / total * column.average_precision() for level, column in enumerate(columns)]
    return torch.stack(parts).sum(0)


def _columns(lists: Lists) -> list[Column]:
    """Return the lists by each level's relevance, the finest first."""
    return [lists.column(level) for level in range(lists.block.legend.depth)]


_SUN: Source = {"paper": "Dynamic Metric Learning, Sun et al., CVPR 2021", "url": "https://arxiv.org/abs/2103.11781"}
_LEVEL_MEANS = (
    Measure(
        name="level_mean_AP",
        title="mAP, mean of levels",
        short="level mAP",
        sentence="AP at each level of the label tree, averaged over the levels: the mAP of the DyML benchmarks.",
        family="ranking",
        equation=r"\frac1L\sum_{l=1}^{L}AP^{(l)}",
        symbols={"L": "number of levels of the label tree", "AP^{(l)}": "AP at level l"},
        order=101,
        offered=("level_mean_AP",),
        score=mean_ap,
        **_SUN,
    ),
    Measure(
        name="level_mean_R_at_k",
        title="R@k, mean of levels",
        short="level R@k",
        sentence="R@k at each level of the label tree, averaged over the levels: at k = 1 that of the DyML benchmarks.",
        family="ranking",
        equation=r"\frac1L\sum_{l=1}^{L}R@k^{(l)}",
        symbols={"L": "number of levels of the label tree", "R@k^{(l)}": "R@k at level l, k being the cut-off"},
        order=102,
        offered=("level_mean_R_at_1",),
        score=mean_recall,
        **_SUN,
    ),
    Measure(
        name="sum_wAP",
        title="ΣwAP",
        sentence="AP at each level of the label tree, summed with weights that fall from the finest level to the "
        "coarsest. The weights are ours: the levels an image shares with the query, divided by their sum.",
        family="ranking",
        paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV 2022",
        url="https://arxiv.org/abs/2207.04873",
        equation=r"\sum_{l=1}^{L}w_l\,AP^{(l)},\quad w_l=\frac{l}{\sum_p p}",
        symbols={
            "L": "number of levels of the label tree",
            "AP^{(l)}": "AP at level l, 1 being the coarsest",
            "w_l": "weight of level l",
            "p": "every level in turn",
        },
        order=103,
        offered=("sum_wAP",),
        score=weighted_ap,
    ),
)


DESCRIPTORS = (*_AVERAGE_PRECISION, RECALL, *_PRECISION, TRUE_RECALL, H_AP, ASI, *_NDCG, *_LEVEL_MEANS)
