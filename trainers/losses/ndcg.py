"""NDCG losses: graded relevance with a logarithmic discount by rank. ROD-NDCG adds class proxies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trainers.losses._bound import DIFFERS, BoundParameters, DiscountedGain, SigmoidParameters, resolve
from trainers.losses._rank_loss import ProxyTermParameters, RankLoss, SmoothRank, SupRank
from trainers.losses._symbols import BOUND, LEVELS, RANK_LEVELS, RANKED, SIGMOID, SOFTMAX
from trainers.losses.base import LossDescriptor
from trainers.losses.proxies import PROXY_LEARNING_RATE


@dataclass(frozen=True, kw_only=True)
class RODNDCGParameters(ProxyTermParameters, BoundParameters):
    """Parameters of ROD-NDCG: the bound's, the weights and the proxies' temperature."""


def sup_ndcg(parameters: BoundParameters, **_classes: Any) -> RankLoss:
    """Build the mean of 1 - DCG / IDCG with bounded ranks and gain 2^l - 1 (Ramzi et al. 2023)."""
    return RankLoss(SupRank(bound=resolve(parameters), measure=DiscountedGain()), name="ndcg")


def smooth_ndcg(parameters: SigmoidParameters, **_classes: Any) -> RankLoss:
    """Build the same with sigmoids for all ranks."""
    return RankLoss(SmoothRank(tau=parameters.tau, measure=DiscountedGain()), name="ndcg")


def rod_ndcg(parameters: RODNDCGParameters, **classes: Any) -> RankLoss:
    """Build (1 - lambda) Sup-NDCG + lambda proxy softmax."""
    ranker = SupRank(bound=resolve(parameters), measure=DiscountedGain())
    return RankLoss(ranker, name="ndcg", weights=parameters.weights, parameters=parameters, **classes)


SCORE = r"1-\frac{1}{\mathrm{IDCG}}\sum_i \frac{2^{l_i}-1}{\log_2(1+\mathrm{rank}_i)}"
_SUP = LossDescriptor(
    name="sup_ndcg",
    title="Sup-NDCG",
    family="Hierarchical ranking",
    paper="Optimization of Rank Losses for Image Retrieval, Ramzi et al.",
    year=2023,
    url="https://arxiv.org/abs/2309.08250",
    equation=r"\mathcal{L}=" + SCORE + r",\quad\mathrm{rank}_i=\mathrm{rank}^+_i+\sum_{l_j<l_i}H^-(s_j-s_i)",
    symbols={r"\mathrm{IDCG}": "the sum in the best possible order"} | LEVELS | RANKED | RANK_LEVELS | BOUND,
    sentence="Rewards each result for the levels it shares with the query, divided by the logarithm of its rank.",
    unlike=(
        "Unlike Sup-H-AP, it divides the gain of each result by the logarithm of its rank instead of "
        "taking the precision at that rank."
    ),
    differs=DIFFERS,
    parameters=BoundParameters,
    module=sup_ndcg,
    hierarchy=True,
    gallery=True,
    own_queries=True,
    order=203,
)

DESCRIPTORS = (
    _SUP,
    replace(
        _SUP,
        name="smooth_ndcg",
        title="Smooth-NDCG",
        equation=r"\mathcal{L}=" + SCORE + r",\quad\mathrm{rank}_i=1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)",
        symbols={r"\mathrm{IDCG}": "the sum in the best possible order"} | LEVELS | RANKED | SIGMOID,
        sentence="NDCG with soft comparisons in place of counting: the plain form of Sup-NDCG.",
        unlike=(
            "Unlike Sup-NDCG, it counts every image above another with the same sigmoid, whatever levels they share."
        ),
        differs="",
        parameters=SigmoidParameters,
        module=smooth_ndcg,
        order=206,
    ),
    replace(
        _SUP,
        name="rod_ndcg",
        title="ROD-NDCG",
        equation=(
            r"\mathcal{L}=(1-\lambda)\,\mathcal{L}_{\text{Sup-NDCG}}"
            r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
        ),
        symbols={
            r"\lambda": "weight of the proxy term (`weight_proxy`); 1 - λ is that of Sup-NDCG (`weight_rank`)",
            r"\mathcal{L}_{\text{Sup-NDCG}}": "the loss Sup-NDCG",
        }
        | SOFTMAX,
        sentence="NDCG over the label tree, while a proxy per class keeps the finest classes together.",
        unlike=(
            "Unlike Sup-NDCG, it adds a softmax over learned proxies of the finest classes, which all batches share."
        ),
        parameters=RODNDCGParameters,
        module=rod_ndcg,
        proxies=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=202,
    ),
)
