"""What each metric says, for the page and the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from trainers.metrics.names import parse

_HAPPIER = "Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV 2022"
_REALITY = "A Metric Learning Reality Check, Musgrave et al., ECCV 2020"


@dataclass(frozen=True, kw_only=True)
class MetricDescriptor:
    """One entry of the metric menu.

    Attributes:
        name: as in :func:`trainers.metrics.evaluate`; ``k`` stands for any number, ``l`` for a level.
        title: as printed.
        sentence: what it says, one plain sentence.
        paper, url: where it comes from.
        equation: LaTeX, no dollar signs.
    """

    name: str
    title: str
    sentence: str
    paper: str
    url: str
    equation: str


_ALL = (
    MetricDescriptor(
        name="R_at_k",
        title="R@k",
        sentence="Share of queries with at least one image of their class among the first k results.",
        paper="Product Quantization for Nearest Neighbor Search, Jégou et al., TPAMI 2011",
        url="https://doi.org/10.1109/TPAMI.2010.57",
        equation=r"R@k=\mathbf 1\Big[\sum_{r\le k}\mathrm{rel}(r)>0\Big]",
    ),
    MetricDescriptor(
        name="AP",
        title="AP",
        sentence="Precision at each image of the query's class, averaged: 1 when they all come first.",
        paper="Introduction to Information Retrieval, Manning et al., 2008, chapter 8",
        url="https://nlp.stanford.edu/IR-book/",
        equation=r"AP=\frac1R\sum_{r}P(r)\,\mathrm{rel}(r)",
    ),
    MetricDescriptor(
        name="AP_at_R",
        title="mAP@R",
        sentence="AP that looks only as far down the list as there are images of the query's class.",
        paper=_REALITY,
        url="https://arxiv.org/abs/2003.08505",
        equation=r"AP@R=\frac1R\sum_{r\le R}P(r)\,\mathrm{rel}(r)",
    ),
    MetricDescriptor(
        name="AP_at_k",
        title="mAP@k",
        sentence="AP over the first k results.",
        paper="Google Landmarks Dataset v2, Weyand et al., CVPR 2020",
        url="https://arxiv.org/abs/2004.01804",
        equation=r"AP@k=\frac1{\min(R,k)}\sum_{r\le k}P(r)\,\mathrm{rel}(r)",
    ),
    MetricDescriptor(
        name="P_at_k",
        title="P@k",
        sentence="Share of the first k results that are of the query's class.",
        paper="Introduction to Information Retrieval, Manning et al., 2008, chapter 8",
        url="https://nlp.stanford.edu/IR-book/",
        equation=r"P@k=\frac1k\sum_{r\le k}\mathrm{rel}(r)",
    ),
    MetricDescriptor(
        name="true_R_at_k",
        title="True recall@k",
        sentence="Share of the images of the query's class that the first k results hold, out of those that fit.",
        paper="Recall@k Surrogate Loss with Large Batches and Similarity Mixup, Patel et al., CVPR 2022",
        url="https://arxiv.org/abs/2108.11179",
        equation=r"TR@k=\frac1{\min(R,k)}\sum_{r\le k}\mathrm{rel}(r)",
    ),
    MetricDescriptor(
        name="HAP",
        title="H-AP",
        sentence="AP with graded relevance: a result counts for as much of the label tree as it shares with the query.",
        paper=_HAPPIER,
        url="https://arxiv.org/abs/2207.04873",
        equation=(
            r"\mathcal H\text{-}AP=\frac{1}{\sum_i\mathrm{rel}_i}\sum_i\frac1{\mathrm{rank}_i}"
            r"\sum_{j:\,\mathrm{rank}_j\le\mathrm{rank}_i}\min(\mathrm{rel}_i,\mathrm{rel}_j)"
        ),
    ),
    MetricDescriptor(
        name="NDCG",
        title="NDCG",
        sentence="Gain of each result, doubled for each level shared and discounted by rank, against the best order.",
        paper="Cumulated Gain-Based Evaluation of IR Techniques, Järvelin and Kekäläinen, TOIS 2002",
        url="https://doi.org/10.1145/582415.582418",
        equation=r"NDCG=\frac{1}{IDCG}\sum_i\frac{2^{l_i}-1}{\log_2(1+\mathrm{rank}_i)}",
    ),
    MetricDescriptor(
        name="ASI",
        title="ASI",
        sentence="How far the first n results hold the same mix of levels as the best list does, averaged over n.",
        paper="Dynamic Metric Learning, Sun et al., CVPR 2021",
        url="https://arxiv.org/abs/2103.11781",
        equation=r"ASI=\frac1N\sum_{n=1}^N\frac{SI(n)}{n}",
    ),
    MetricDescriptor(
        name="AP_level_l",
        title="AP at a level",
        sentence="AP when every image of the query's class at one level of the label tree counts as found.",
        paper=_HAPPIER,
        url="https://arxiv.org/abs/2207.04873",
        equation=r"AP^{(l)}=\frac1{R_l}\sum_r P_l(r)\,\mathrm{rel}_l(r)",
    ),
)

METRICS: Mapping[str, MetricDescriptor] = MappingProxyType({metric.name: metric for metric in _ALL})


def describe(name: str, levels: tuple[str, ...] = ()) -> MetricDescriptor:
    """The descriptor of a requested name, with its numbers filled in: ``R_at_10_level1`` is ``R@10, kind``.

    Args:
        name: as in :func:`trainers.metrics.evaluate`.
        levels: the tree's level names, finest first; empty: levels are shown by number.

    Raises:
        ParameterError: there is no such metric.
    """
    metric = parse(name, max(len(levels), 100))
    if metric.level is None:
        return METRICS[metric.kind]
    suffix = {None: "", 0: "_at_R"}.get(metric.k, "_at_k")
    entry = METRICS.get(metric.kind + suffix) or METRICS["P_at_k"]
    title = entry.title
    if suffix == "_at_k":
        title = title.replace("@k", f"@{metric.k}")
    elif entry.name == "P_at_k":
        title = "P@R"
    if "level" in name:
        title += f", {levels[metric.level] if metric.level < len(levels) else f'level {metric.level}'}"
    return replace(entry, name=name, title=title)
