"""Sup-AP: average precision with an upper bound on the rank that keeps pulling on badly ranked items."""

from __future__ import annotations

from typing import Any

from trainers.losses._bound import DIFFERS, BoundParameters, resolve
from trainers.losses._rank_loss import RankLoss
from trainers.losses._rank_measures import AveragePrecision
from trainers.losses._sup_rank import SupRank
from trainers.losses._symbols import BOUND, QUERY, RANK_PLUS
from trainers.losses.base import LossDescriptor


def sup_ap(parameters: BoundParameters, **_classes: Any) -> RankLoss:
    """Build Sup-AP (Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval", NeurIPS 2021, Eq.
    5).

    Mean over queries of 1 - (1/|Omega+|) sum_i rank+_i / rank_i: positives above i counted by the true step, negatives
    by its bound. Any row order and class sizes; labels with several levels are read at the finest.
    """
    return RankLoss(SupRank(bound=resolve(parameters), measure=AveragePrecision()), name="ap", finest=True)


DESCRIPTOR = LossDescriptor(
    name="sup_ap",
    title="Sup-AP",
    family="Ranking",
    paper="Robust and Decomposable Average Precision for Image Retrieval, Ramzi et al., NeurIPS",
    year=2021,
    url="https://arxiv.org/abs/2110.01445",
    equation=(
        r"\mathcal{L} = \frac{1}{B}\sum_q \Big(1 - \frac{1}{|\Omega^+_q|}\sum_{i\in\Omega^+_q}"
        r"\frac{\mathrm{rank}^+_i}{\mathrm{rank}^+_i+\sum_{j\in\Omega^-_q}H^-(s_j-s_i)}\Big)"
    ),
    symbols=QUERY
    | {
        r"\Omega^+_q": "images of the class of the query q, itself among them",
        r"\Omega^-_q": "images of other classes than that of q",
    }
    | RANK_PLUS
    | BOUND,
    sentence="Never reports a better average precision than the true one, and pulls hard on items ranked far too high.",
    unlike=(
        "Unlike Smooth-AP, it counts negatives above a positive along a rising line, which leaves a "
        "gradient where a sigmoid is flat, and ranks positives among themselves without gradient."
    ),
    differs=DIFFERS,
    parameters=BoundParameters,
    module=sup_ap,
    gallery=True,
    own_queries=True,
    order=102,
)
