"""Recall at k made trainable: Smooth-R@k, Sup-R@k, and ROD-R@k, which adds class proxies or calibrated pairs."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._bound import DIFFERS, BoundParameters, resolve
from trainers.losses._decomposable import Decomposable, DecomposableParameters, Weights, described, weigh
from trainers.losses._measures import Recall
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._rank import SupRank
from trainers.losses._rank_loss import RankLoss
from trainers.losses._smooth import SmoothRank
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter

AT_K = (1, 2, 4, 8, 16)
K_HELP = "The cut-offs k, averaged."
TEMP_HELP = "Softness of the cut-off, in ranks."


@dataclass(frozen=True, kw_only=True)
class SmoothRecallParameters:
    """Parameters of Smooth-R@k."""

    tau: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid; small is close to true counting."
    )
    at_k: tuple[int, ...] = parameter(AT_K, low=1, high=10_000, help=K_HELP)
    temp: float = parameter(1.0, low=0.05, high=20.0, log=True, help=TEMP_HELP)


@dataclass(frozen=True, kw_only=True)
class SupRecallParameters(BoundParameters):
    """Parameters of Sup-R@k: the bound's, the cut-offs and their softness."""

    at_k: tuple[int, ...] = parameter(AT_K, low=1, high=10_000, help=K_HELP)
    temp: float = parameter(1.0, low=0.05, high=20.0, log=True, help=TEMP_HELP)


# Table II has both rows. The code's configurations of this loss name no weights, which makes them equal.
TERMS = {
    "table_ii_proxies": (Weights(rank=0.9, proxy=0.1), "0.9 and 0.1 with proxies (Ramzi et al. 2023, last row)"),
    "table_ii_pairs": (Weights(rank=0.9, calibration=0.1), "0.9 and 0.1 with pairs (the row above)"),
    "code_proxies": (Weights(rank=0.5, proxy=0.5), "0.5 and 0.5 with proxies (the code)"),
    "code_pairs": (Weights(rank=0.5, calibration=0.5), "0.5 and 0.5 with pairs (the code)"),
}


@dataclass(frozen=True, kw_only=True)
class RODRecallParameters(SupRecallParameters, DecomposableParameters):
    """Parameters of ROD-R@k: Sup-R@k's, the second term's, and the weights."""

    weight_recall: float | None = parameter(
        None, low=0.0, high=10.0, help="Weight of Sup-R@k; empty: as the terms say."
    )
    terms: str = parameter(next(iter(TERMS)), choices=tuple(TERMS), help=described(TERMS))


def recall_at_k(
    parameters: SmoothRecallParameters | SupRecallParameters,
    *,
    num_classes: int,
    dim: int,
    class_labels: Tensor | None = None,
) -> RankLoss:
    """Mean over queries of 1 - (1/|K|) sum_k (1/min(k, P)) sum_i sig((k - rank_i) / temp) (Ramzi et al. 2023).

    The query is its own positive when the batch is its own gallery, so perfect ranks do not give exactly zero. Any
    class sizes: P is each query's own number of positives.
    """
    return RankLoss(_ranker(parameters), name="recall", finest=True)


def rod_recall(
    parameters: RODRecallParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> Decomposable:
    """(1 - lambda) Sup-R@k + lambda times the second term (Ramzi et al. 2023, Eq. 17 with Eq. 8 or Eq. 7)."""
    return Decomposable(
        _ranker(parameters),
        name="recall",
        weights=weigh(parameters, parameters.weight_recall, TERMS[parameters.terms][0]),
        parameters=parameters,
        num_classes=num_classes,
        dim=dim,
    )


def _ranker(parameters: SmoothRecallParameters | SupRecallParameters) -> SmoothRank | SupRank:
    measure = Recall(at_k=parameters.at_k, temps=(parameters.temp,) * len(parameters.at_k))
    if isinstance(parameters, BoundParameters):
        return SupRank(bound=resolve(parameters), measure=measure)
    return SmoothRank(tau=parameters.tau, measure=measure)


PAPER = "Optimization of Rank Losses for Image Retrieval, Ramzi et al."
URL = "https://arxiv.org/abs/2309.08250"
SCORE = (
    r"1-\frac{1}{|K|}\sum_{k\in K}\frac{1}{\min(k,|\Omega^+|)}\sum_{i\in\Omega^+}"
    r"\sigma\Big(\frac{k-\mathrm{rank}_i}{T}\Big)"
)

DESCRIPTORS = (
    LossDescriptor(
        name="smooth_recall",
        title="Smooth-R@k",
        family="Ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=" + SCORE + r",\quad \mathrm{rank}_i=1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)",
        sentence="Asks for the right images among the first k results, with soft ranks and soft cut-offs.",
        parameters=SmoothRecallParameters,
        module=recall_at_k,
        gallery=True,
        order=106,
    ),
    LossDescriptor(
        name="sup_recall",
        title="Sup-R@k",
        family="Ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=" + SCORE + r",\quad \mathrm{rank}_i=\mathrm{rank}^+_i+\sum_{j\in\Omega^-}H^-(s_j-s_i)",
        sentence="Recall in the first k results, with the rank bound that keeps pulling on images ranked far too low.",
        differs=DIFFERS,
        parameters=SupRecallParameters,
        module=recall_at_k,
        gallery=True,
        order=105,
    ),
    LossDescriptor(
        name="rod_recall",
        title="ROD-R@k",
        family="Ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=(
            r"\mathcal{L}=(1-\lambda)\,\mathcal{L}_{\text{Sup-R@}k}"
            r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
        ),
        sentence="Recall in the first k results, and a proxy per class so that it also holds on the whole set.",
        differs=(
            "Table II has a row with proxies, as here, and one with calibrated pairs (`terms`); the code weighs the "
            "two terms 0.5 and 0.5, and averages the calibration over the pairs still inside a hinge, where the paper "
            "prints all pairs (`mean_over=all`). " + DIFFERS
        ),
        parameters=RODRecallParameters,
        module=rod_recall,
        proxies=True,
        gallery=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=104,
    ),
)
