"""Smooth-AP: average precision with every counting step replaced by a sigmoid."""

from __future__ import annotations

from typing import Any

from trainers.losses._bound import SigmoidParameters
from trainers.losses._rank_loss import RankLoss
from trainers.losses._rank_measures import AveragePrecision
from trainers.losses._smooth_rank import SmoothRank
from trainers.losses._symbols import QUERY, SIGMOID
from trainers.losses.base import LossDescriptor


def smooth_ap(parameters: SigmoidParameters, **_classes: Any) -> RankLoss:
    """Build Smooth-AP (Brown et al., "Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval", ECCV 2020,
    Eq. 7).

    Mean over queries of 1 - AP~, the query counting as its own positive when the batch is its own gallery. Any row
    order and class sizes; labels with several levels are read at the finest. Queries without a positive are left out.
    """
    return RankLoss(SmoothRank(tau=parameters.tau, measure=AveragePrecision()), name="ap", finest=True)


DESCRIPTOR = LossDescriptor(
    name="smooth_ap",
    title="Smooth-AP",
    family="Ranking",
    paper="Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval, Brown et al., ECCV",
    year=2020,
    url="https://arxiv.org/abs/2007.12163",
    equation=(
        r"\mathcal{L} = \frac{1}{B}\sum_q \Big(1 - \frac{1}{|\Omega^+_q|}\sum_{i\in\Omega^+_q}"
        r"\frac{1+\sum_{j\in\Omega^+_q\setminus i}\sigma_\tau(s_j-s_i)}{1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)}\Big)"
    ),
    symbols=QUERY | {r"\Omega^+_q": "images of the class of the query q, itself among them"} | SIGMOID,
    sentence="Pushes average precision up directly, with soft comparisons in place of counting who ranks above whom.",
    unlike=(
        "Unlike Sup-AP, it counts with one sigmoid throughout, so that a negative far above a positive "
        "gives almost no gradient."
    ),
    parameters=SigmoidParameters,
    module=smooth_ap,
    gallery=True,
    own_queries=True,
    order=100,
)
