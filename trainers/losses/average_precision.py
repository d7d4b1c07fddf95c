"""Average precision as a loss: Smooth-AP, Sup-AP, and ROADMAP, which makes Sup-AP decomposable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainers.losses._bound import DIFFERS, AveragePrecision, BoundParameters, SigmoidParameters, resolve
from trainers.losses._rank_loss import DecomposableParameters, RankLoss, SmoothRank, SupRank, Weights, described, weigh
from trainers.losses._symbols import BOUND, QUERY, RANK_PLUS, SIGMOID, SOFTMAX
from trainers.losses.base import LossDescriptor
from trainers.losses.proxies import PROXY_LEARNING_RATE
from trainers.parameters import parameter


def smooth_ap(parameters: SigmoidParameters, **_classes: Any) -> RankLoss:
    """Build Smooth-AP (Brown et al., "Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval", ECCV 2020,
    Eq. 7).

    Mean over queries of 1 - AP~, the query counting as its own positive when the batch is its own gallery. Any row
    order and class sizes; labels with several levels are read at the finest. Queries without a positive are left out.
    """
    return RankLoss(SmoothRank(tau=parameters.tau, measure=AveragePrecision()), name="ap", finest=True)


SMOOTH_AP = LossDescriptor(
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


def sup_ap(parameters: BoundParameters, **_classes: Any) -> RankLoss:
    """Build Sup-AP (Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval", NeurIPS 2021, Eq.
    5).

    Mean over queries of 1 - (1/|Omega+|) sum_i rank+_i / rank_i: positives above i counted by the true step, negatives
    by its bound. Any row order and class sizes; labels with several levels are read at the finest.
    """
    return RankLoss(SupRank(bound=resolve(parameters), measure=AveragePrecision()), name="ap", finest=True)


SUP_AP = LossDescriptor(
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


# Tables I, III and IV follow the choice of section VII-A2 to keep the proxies alone.
TERMS = {
    "tables_i_iii_proxies": (Weights(rank=0.9, proxy=0.1), "0.9 and 0.1 with proxies (Ramzi et al. 2023)"),
    "table_ii_pairs": (Weights(rank=0.9, calibration=0.1), "0.9 and 0.1 with pairs (the same, Table II)"),
    "neurips_2021_pairs": (Weights(rank=0.5, calibration=0.5), "0.5 and 0.5 with pairs (the first paper)"),
    "neurips_2021_code_pairs": (Weights(rank=1.0, calibration=1.0), "1 and 1 with pairs (its code)"),
}


@dataclass(frozen=True, kw_only=True)
class RoadmapParameters(DecomposableParameters):
    """Parameters of ROADMAP: the bound's, the second term's, and the weights."""

    weight_ap: float | None = parameter(None, low=0.0, high=10.0, help="Weight of Sup-AP; empty: as the terms say.")
    terms: str = parameter(next(iter(TERMS)), choices=tuple(TERMS), help=described(TERMS))


def roadmap(parameters: RoadmapParameters, **classes: Any) -> RankLoss:
    """Build (1 - lambda) Sup-AP + lambda times the second term (Ramzi et al. 2023, Eq. 12 with Eq. 8 or Eq. 7)."""
    return RankLoss(
        SupRank(bound=resolve(parameters), measure=AveragePrecision()),
        name="ap",
        weights=weigh(parameters, parameters.weight_ap, TERMS[parameters.terms][0]),
        parameters=parameters,
        finest=True,
        **classes,
    )


ROADMAP = LossDescriptor(
    name="roadmap",
    title="ROADMAP",
    family="Ranking",
    paper="Optimization of Rank Losses for Image Retrieval, Ramzi et al.",
    year=2023,
    url="https://arxiv.org/abs/2309.08250",
    equation=(
        r"\mathcal{L} = (1-\lambda)\,\mathcal{L}_{\text{Sup-AP}}"
        r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
    ),
    symbols={
        r"\lambda": "weight of the proxy term (`weight_proxy`); 1 - λ is that of Sup-AP (`weight_ap`)",
        r"\mathcal{L}_{\text{Sup-AP}}": "the loss Sup-AP",
    }
    | SOFTMAX,
    sentence="Average precision inside the batch, and a proxy per class so that it also holds on the whole set.",
    unlike="Unlike Sup-AP, it adds a softmax over learned class proxies, which all batches share.",
    differs=(
        "The tables of 2023 are trained with proxies, as here; the paper of 2021 had calibrated pairs in their place "
        "(`terms`), which its code weighs 1 and 1 where the paper says 0.5 and 0.5, and averages over the pairs still "
        "inside a hinge, where the paper prints all pairs (`mean_over=all`). " + DIFFERS
    ),
    parameters=RoadmapParameters,
    module=roadmap,
    proxies=True,
    gallery=True,
    own_queries=True,
    whole_batch={"terms": frozenset({"table_ii_pairs", "neurips_2021_pairs", "neurips_2021_code_pairs"})},
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=101,
)


DESCRIPTORS = (SMOOTH_AP, SUP_AP, ROADMAP)
