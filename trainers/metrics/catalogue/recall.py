"""R@k."""

from __future__ import annotations

from torch import Tensor

from trainers.metrics._symbols import CUT_OFF, INDICATOR, RELEVANCE
from trainers.metrics.measure import Measure
from trainers.metrics.ranking import Lists


def recall(lists: Lists, k: int | None, level: int) -> Tensor:
    """Return 1 if one of the first k items is relevant, else 0."""
    column = lists.column(level)
    return column.defined(column.hits(column.cut(k)).clamp(max=1))


DESCRIPTOR = Measure(
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
