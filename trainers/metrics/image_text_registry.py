"""What the numbers between photos and sentences say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trainers.metrics.registry import MetricDescriptor

_PAPER = "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval, Kim et al., CVPR workshops 2023"
_URL = "https://arxiv.org/abs/2304.03391"
_READING = "No number of the paper's; ours."

_ALL = (
    MetricDescriptor(
        name="ODmAP_at_k",
        title="ODmAP@k",
        sentence="AP@k of photos without an object: a sentence is right if it names nothing gone and something there.",
        paper=_PAPER,
        url=_URL,
        equation=r"ODmAP@k=\frac1{|Q|}\sum_{q\in Q}\frac1k\sum_{i=1}^{k}P_q(i)\,\mathrm{rel}_q(i),\quad "
        r"\mathrm{rel}=\mathbf 1[\forall c\in R:\ c\notin y]\;\mathbf 1[\exists c\in C\setminus R:\ c\in y]",
    ),
    MetricDescriptor(
        name="hallucination_at_k",
        title="Names what is gone @k",
        sentence=f"Share of the first k sentences that name a removed class. {_READING}",
        paper=_PAPER,
        url=_URL,
        equation=r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in R:\ c\in y_i]",
    ),
    MetricDescriptor(
        name="present_at_k",
        title="Names what is there @k",
        sentence=f"Share of the first k sentences that name a class still in the photo. {_READING}",
        paper=_PAPER,
        url=_URL,
        equation=r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in C\setminus R:\ c\in y_i]",
    ),
    MetricDescriptor(
        name="i2t_R_at_k",
        title="Photo to sentence R@k",
        sentence="Share of untouched photos with one of their own sentences among the first k.",
        paper="Deep Visual-Semantic Alignments for Generating Image Descriptions, Karpathy and Fei-Fei, CVPR 2015",
        url="https://arxiv.org/abs/1412.2306",
        equation=r"\mathbf 1\Big[\min_{y\in Y(x)}\mathrm{rank}_x(y)\le k\Big]",
    ),
    MetricDescriptor(
        name="t2i_R_at_k",
        title="Sentence to photo R@k",
        sentence="Share of sentences whose own photo is among the first k.",
        paper="Deep Visual-Semantic Alignments for Generating Image Descriptions, Karpathy and Fei-Fei, CVPR 2015",
        url="https://arxiv.org/abs/1412.2306",
        equation=r"\mathbf 1\big[\mathrm{rank}_y(x(y))\le k\big]",
    ),
)

CROSSMODAL_METRICS: Mapping[str, MetricDescriptor] = MappingProxyType({metric.name: metric for metric in _ALL})
