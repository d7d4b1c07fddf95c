"""AP over the whole list, over the first R or k results, and at one level of the label tree."""

from __future__ import annotations

from torch import Tensor

from trainers.metrics._symbols import CUT_OFF, PRECISION, RELEVANCE, RELEVANT
from trainers.metrics.measure import Measure
from trainers.metrics.ranking import Lists


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


DESCRIPTORS = (
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
