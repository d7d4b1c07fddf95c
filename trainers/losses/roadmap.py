"""ROADMAP: Sup-AP made decomposable by a second term, class proxies or calibrated pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainers.losses._bound import DIFFERS, resolve
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._rank_loss import DecomposableParameters, RankLoss, Weights, described, weigh
from trainers.losses._rank_measures import AveragePrecision
from trainers.losses._sup_rank import SupRank
from trainers.losses._symbols import SOFTMAX
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter

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


DESCRIPTOR = LossDescriptor(
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
