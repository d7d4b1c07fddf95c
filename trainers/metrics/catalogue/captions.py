"""Metrics of retrieved captions: recall@k, and without an object ODmAP@k, Hallucination@k and present objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trainers.metrics.bitmasks import Judged
from trainers.metrics.measure import CUT_OFF, INDICATOR, Measure, Source

_TO_TEXT = Measure(
    name="i2t_R_at_k",
    title="image to text R@k",
    short="i2t R@k",
    sentence="Share of original images with one of their own captions among the top-k captions.",
    family="image_text",
    paper="Deep Visual-Semantic Alignments for Generating Image Descriptions, Karpathy and Fei-Fei, CVPR 2015",
    url="https://arxiv.org/abs/1412.2306",
    equation=r"\mathbf 1\Big[\min_{y\in Y(x)}\mathrm{rank}_x(y)\le k\Big]",
    symbols={
        "x": "an image",
        "Y(x)": "the captions y of x",
        r"\mathrm{rank}_x(y)": "rank of caption y among all captions for the query x",
    }
    | CUT_OFF
    | INDICATOR,
    order=140,
)
_IMAGE_TEXT_RECALL = (
    _TO_TEXT,
    replace(
        _TO_TEXT,
        name="t2i_R_at_k",
        title="text to image R@k",
        short="t2i R@k",
        sentence="Share of captions with their own image among the top-k images.",
        equation=r"\mathbf 1\big[\mathrm{rank}_y(x(y))\le k\big]",
        symbols={
            "y": "a caption",
            "x(y)": "the image of y",
            r"\mathrm{rank}_y(x(y))": "its rank among all images for the query y",
        }
        | CUT_OFF
        | INDICATOR,
        order=150,
    ),
)


def odmap(judged: Judged, k: int) -> np.ndarray:
    """Return AP@k of the correct captions: the sum over i <= k of P(i) rel(i), divided by min(k, correct captions).

    The paper divides by k, which is the same on large galleries; on small ones the smaller number is our reading.
    """
    hits = judged.hits[:, :k].astype(np.float64)
    total = (hits.cumsum(1) / np.arange(1, hits.shape[1] + 1) * hits).sum(1)
    return np.where(judged.scored, total / judged.relevant.clip(1, k), np.nan)


SOURCE: Source = {
    "paper": "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval, Kim et al., CVPR workshops 2023",
    "url": "https://arxiv.org/abs/2304.03391",
}
ODMAP = Measure(
    name="ODmAP_at_k",
    title="ODmAP@k",
    sentence=(
        "AP@k of images without an object: a caption is correct if it names no removed class and at least one class "
        "still in the image."
    ),
    family="image_text",
    equation=r"ODmAP@k=\frac1{|Q|}\sum_{q\in Q}\frac1k\sum_{i=1}^{k}P_q(i)\,\mathrm{rel}_q(i),\quad "
    r"\mathrm{rel}=\mathbf 1[\forall c\in R:\ c\notin y]\;\mathbf 1[\exists c\in C\setminus R:\ c\in y]",
    symbols={
        "Q": "the queries q: images without an object",
        "k": "the cut-off",
        "P_q(i)": "share of the first i captions of q that are correct",
        r"\mathrm{rel}_q(i)": "1 if the caption at rank i of q is correct, else 0",
        "y": "a caption, as the classes that it names",
        "c": "a class",
        "R": "classes that were removed",
        "C": "classes in the original image",
    }
    | INDICATOR,
    order=110,
    judge=odmap,
    **SOURCE,
)


def hallucination(judged: Judged, k: int) -> np.ndarray:
    """Share of the top-k captions that name a removed class."""
    return np.where(judged.removed, (judged.verdicts[:, :k] < 2).mean(1), np.nan)


_NAMED_AFTER = Measure(
    name="hallucination_at_k",
    title="hallucination@k",
    short="halluc.@k",
    sentence="Share of the top-k captions that name a removed class. Not a metric of the paper.",
    family="image_text",
    better="down",
    equation=r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in R:\ c\in y_i]",
    symbols={"k": "the cut-off", "y_i": "the caption at rank i", "R": "classes that were removed", "c": "a class"}
    | INDICATOR,
    order=120,
    judge=hallucination,
    **SOURCE,
)
_HALLUCINATION = (
    _NAMED_AFTER,
    replace(
        _NAMED_AFTER,
        name="original_names_at_k",
        title="names it, original image @k",
        short="",
        sentence="The same for the original images: share of the top-k captions that name what will be removed.",
        better="",
        order=121,
        judge=None,
    ),
)


def present(judged: Judged, k: int) -> np.ndarray:
    """Share of the top-k captions that name a class still in the image."""
    return np.where(judged.present, (judged.verdicts[:, :k] % 2 == 1).mean(1), np.nan)


_AFTER = Measure(
    name="present_at_k",
    title="names what remains @k",
    sentence="Share of the top-k captions that name a class still in the image. Not a metric of the paper.",
    family="image_text",
    equation=r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in C\setminus R:\ c\in y_i]",
    symbols={
        "k": "the cut-off",
        "y_i": "the caption at rank i",
        "R": "classes that were removed",
        r"C\setminus R": "classes still in the image",
        "c": "a class",
    }
    | INDICATOR,
    order=130,
    judge=present,
    **SOURCE,
)
_PRESENT = (
    _AFTER,
    replace(
        _AFTER,
        name="original_present_at_k",
        title="names what remains, original image @k",
        sentence="The same for the original images: share of the top-k captions that name what will remain.",
        order=131,
        judge=None,
    ),
)


DESCRIPTORS = (*_IMAGE_TEXT_RECALL, ODMAP, *_HALLUCINATION, *_PRESENT)
