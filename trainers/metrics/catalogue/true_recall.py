"""True recall@k."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.metrics._symbols import CUT_OFF, RELEVANCE, RELEVANT
from trainers.metrics.measure import Measure
from trainers.metrics.ranking import Lists


def true_recall(lists: Lists, k: int | None, level: int) -> Tensor:
    """Return the relevant items among the first k, divided by min(R, k)."""
    column = lists.column(level)
    cut = column.cut(k)
    return column.defined(column.hits(cut) / torch.minimum(cut, column.relevant))


DESCRIPTOR = Measure(
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
