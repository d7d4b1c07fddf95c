"""Recall@k between images and captions, in both directions; computed by :mod:`trainers.metrics.image_text`."""

from __future__ import annotations

from dataclasses import replace

from trainers.metrics._symbols import CUT_OFF, INDICATOR
from trainers.metrics.measure import Measure

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
DESCRIPTORS = (
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
