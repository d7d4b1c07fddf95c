"""P@k and P@R."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from trainers.metrics._symbols import CUT_OFF, RELEVANCE, RELEVANT
from trainers.metrics.measure import Measure
from trainers.metrics.ranking import Lists


def at_k(lists: Lists, k: int | None, level: int) -> Tensor:
    """Return the relevant items among the first k, divided by k."""
    column = lists.column(level)
    cut = column.cut(k)
    return column.defined(column.hits(cut) / cut)


def at_r(lists: Lists, _k: int | None, level: int) -> Tensor:
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
    score=at_k,
)
DESCRIPTORS = (
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
        score=at_r,
    ),
)
