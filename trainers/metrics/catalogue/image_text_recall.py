"""Recall@k between images and captions, in both directions; computed by :mod:`trainers.metrics.image_text`."""

from __future__ import annotations

from dataclasses import replace

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
        order=150,
    ),
)
