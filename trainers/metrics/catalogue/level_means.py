"""AP and R@k averaged over the levels of the label tree, and AP weighted by level."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.metrics.measure import Measure, Source
from trainers.metrics.ranking import Column, Lists


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
DESCRIPTORS = (
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
