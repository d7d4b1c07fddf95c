"""NDCG losses: graded relevance with a logarithmic discount by rank. ROD-NDCG adds class proxies."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._bound import DIFFERS, BoundParameters, resolve
from trainers.losses._measures import DiscountedGain
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._rank import SupRank
from trainers.losses._rank_loss import RankLoss
from trainers.losses._smooth import SmoothRank
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class SupNDCGParameters(BoundParameters):
    """Parameters of Sup-NDCG: the bound's."""


@dataclass(frozen=True, kw_only=True)
class SmoothNDCGParameters:
    """Parameters of Smooth-NDCG."""

    tau: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid; small is close to true counting."
    )


@dataclass(frozen=True, kw_only=True)
class RODNDCGParameters(BoundParameters):
    """Parameters of ROD-NDCG: the bound's, the weights and the proxies' temperature."""

    weight_rank: float = parameter(0.9, low=0.0, high=10.0, help="Weight of the rank term.")
    weight_proxy: float = parameter(0.1, low=0.0, high=10.0, help="Weight of the proxy softmax on the finest level.")
    temperature: float = parameter(0.05, low=0.005, high=1.0, log=True, help="Temperature of the proxy softmax.")


def sup_ndcg(
    parameters: SupNDCGParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> RankLoss:
    """Mean of 1 - DCG / IDCG with bounded ranks and gain 2^l - 1 (Ramzi et al. 2023)."""
    return RankLoss(SupRank(bound=resolve(parameters), measure=DiscountedGain()), name="ndcg")


def smooth_ndcg(
    parameters: SmoothNDCGParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> RankLoss:
    """The same with sigmoids for all ranks."""
    return RankLoss(SmoothRank(tau=parameters.tau, measure=DiscountedGain()), name="ndcg")


def rod_ndcg(
    parameters: RODNDCGParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> RankLoss:
    """(1 - lambda) Sup-NDCG + lambda proxy softmax."""
    return RankLoss(
        SupRank(bound=resolve(parameters), measure=DiscountedGain()),
        name="ndcg",
        weight_rank=parameters.weight_rank,
        weight_proxy=parameters.weight_proxy,
        temperature=parameters.temperature,
        num_classes=num_classes,
        dim=dim,
    )


PAPER = "Optimization of Rank Losses for Image Retrieval, Ramzi et al."
URL = "https://arxiv.org/abs/2309.08250"
SCORE = r"1-\frac{1}{\mathrm{IDCG}}\sum_i \frac{2^{l_i}-1}{\log_2(1+\mathrm{rank}_i)}"

DESCRIPTORS = (
    LossDescriptor(
        name="sup_ndcg",
        title="Sup-NDCG",
        family="Hierarchical ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=" + SCORE + r",\quad\mathrm{rank}_i=\mathrm{rank}^+_i+\sum_{l_j<l_i}H^-(s_j-s_i)",
        sentence="Rewards close relatives near the top of the list, halving the reward slowly down the ranks.",
        differs=DIFFERS,
        parameters=SupNDCGParameters,
        module=sup_ndcg,
        hierarchy=True,
        gallery=True,
        order=203,
    ),
    LossDescriptor(
        name="smooth_ndcg",
        title="Smooth-NDCG",
        family="Hierarchical ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=" + SCORE + r",\quad\mathrm{rank}_i=1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)",
        sentence="NDCG with soft comparisons in place of counting: the plain form of Sup-NDCG.",
        parameters=SmoothNDCGParameters,
        module=smooth_ndcg,
        hierarchy=True,
        gallery=True,
        order=206,
    ),
    LossDescriptor(
        name="rod_ndcg",
        title="ROD-NDCG",
        family="Hierarchical ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=(
            r"\mathcal{L}=(1-\lambda)\,\mathcal{L}_{\text{Sup-NDCG}}"
            r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
        ),
        sentence="NDCG over the label tree, while a proxy per class keeps the finest classes together.",
        differs=DIFFERS,
        parameters=RODNDCGParameters,
        module=rod_ndcg,
        hierarchy=True,
        proxies=True,
        gallery=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=202,
    ),
)
