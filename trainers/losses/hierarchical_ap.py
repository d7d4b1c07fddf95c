"""H-AP losses: average precision where a near miss counts for something, by how much of the label tree it shares.

HAPPIER adds class proxies that keep the finest classes together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trainers.losses._bound import (
    DIFFERS,
    AveragePrecision,
    BoundParameters,
    SigmoidParameters,
    SmoothLift,
    WeightedAveragePrecision,
    resolve,
)
from trainers.losses._rank_loss import ProxyTermParameters, RankLoss, SmoothRank, SupRank
from trainers.losses._symbols import BOUND, LEVELS, RANK_LEVELS, SIGMOID, SOFTMAX, STEP
from trainers.losses.base import LossDescriptor
from trainers.losses.proxies import PROXY_LEARNING_RATE
from trainers.parameters import default_of, parameter

ALPHA_HELP = "Higher makes the finest level count for more: relevance is (level / levels)^alpha shared by its items."


@dataclass(frozen=True, kw_only=True)
class SupHAPParameters(BoundParameters):
    """Parameters of Sup-H-AP: the bound's, the relevance's, and the optional smooth numerator's."""

    alpha: float = parameter(1.0, low=0.0, high=10.0, help=ALPHA_HELP)
    with_hrank: bool = parameter(
        False, help="Let gradient through the numerator too: finer items are asked to rise above coarser ones."
    )
    beta: float = parameter(25.0, low=0.0, high=1000.0, help="Smooth numerator: slope above zero.")
    leak: float = parameter(10.0, low=0.0, high=1000.0, help="Smooth numerator: slope below zero.")
    gamma: float = parameter(0.5, low=0.0, high=2.0, help="Smooth numerator: height just above zero.")


@dataclass(frozen=True, kw_only=True)
class SmoothHAPParameters(SigmoidParameters):
    """Parameters of Smooth-H-AP."""

    alpha: float = parameter(1.0, low=0.0, high=10.0, help=ALPHA_HELP)


@dataclass(frozen=True, kw_only=True)
class WeightedAPParameters(BoundParameters):
    """Parameters of the level-weighted H-AP."""

    level_weights_coarse_to_fine: tuple[float, ...] | None = parameter(
        None, low=0.0, high=1.0, help="Weight of each level's own AP, coarsest first; empty weighs the levels equally."
    )


def sup_hap(parameters: SupHAPParameters, **_classes: Any) -> RankLoss:
    """Build the mean of 1 - H-AP with hrank counted and rank bounded (Ramzi et al. 2022, Eq. 9). One level: Sup-AP."""
    return RankLoss(sup_hap_ranker(parameters), name="hap")


def sup_hap_ranker(parameters: SupHAPParameters) -> SupRank:
    """Return the ranker of Sup-H-AP."""
    lift = None
    if parameters.with_hrank:
        lift = SmoothLift(beta=parameters.beta, leak=parameters.leak, gamma=parameters.gamma)
    return SupRank(bound=resolve(parameters), measure=AveragePrecision(alpha=parameters.alpha), lift=lift)


def smooth_hap(parameters: SmoothHAPParameters, **_classes: Any) -> RankLoss:
    """Build the mean of 1 - H-AP with sigmoids in both hrank and rank. One level: Smooth-AP."""
    ranker = SmoothRank(tau=parameters.tau, measure=AveragePrecision(alpha=parameters.alpha))
    return RankLoss(ranker, name="hap")


def weighted_hap(parameters: WeightedAPParameters, **_classes: Any) -> RankLoss:
    """Build Sup-H-AP with the relevance of a weighted mean of the levels' APs (Ramzi et al. 2022, property 1)."""
    measure = WeightedAveragePrecision(weights=parameters.level_weights_coarse_to_fine)
    return RankLoss(SupRank(bound=resolve(parameters), measure=measure), name="hap")


COUNTED = (
    "The numerator is counted, without gradient, as in all but one of the published configurations; the paper of 2022 "
    "has a slope there for finer images (`with_hrank`)."
)

_SUP = LossDescriptor(
    name="sup_hap",
    title="Sup-H-AP",
    family="Hierarchical ranking",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L} = 1-\frac{1}{\sum_i \mathrm{rel}_i}\sum_{i}"
        r"\frac{\mathrm{rel}_i+\sum_{j\neq i}\min(\mathrm{rel}_i,\mathrm{rel}_j)H(s_j-s_i)}"
        r"{\mathrm{rank}^+_i+\sum_{l_j<l_i}H^-(s_j-s_i)},\quad"
        r"\mathrm{rel}_i=\frac{(l_i/L)^\alpha}{|\Omega^{(l_i)}|}"
    ),
    symbols={
        r"\mathrm{rel}_i": "relevance of image i: its share of levels, divided among the images that share as many"
    }
    | LEVELS
    | {
        "L": "number of levels",
        r"\alpha": "how much the finest level counts (`alpha`)",
        r"\Omega^{(l_i)}": "images that share exactly l_i levels with the query",
    }
    | STEP
    | RANK_LEVELS
    | BOUND,
    sentence="Average precision for label trees: a result from the right family costs less than one from nowhere.",
    unlike=("Unlike Sup-AP, it gives partial credit to results that share only a coarser level with the query."),
    differs=f"{COUNTED} {DIFFERS}",
    follows_code=True,
    parameters=SupHAPParameters,
    module=sup_hap,
    hierarchy=True,
    gallery=True,
    own_queries=True,
    order=201,
)

_SUP_HAP = (
    _SUP,
    replace(
        _SUP,
        name="smooth_hap",
        title="Smooth-H-AP",
        equation=(
            r"\mathcal{L} = 1-\frac{1}{\sum_i \mathrm{rel}_i}\sum_i"
            r"\frac{\mathrm{rel}_i+\sum_{j\neq i}\min(\mathrm{rel}_i,\mathrm{rel}_j)\,\sigma_\tau(s_j-s_i)}"
            r"{1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)}"
        ),
        symbols={r"\mathrm{rel}_i": "relevance of image i, as in Sup-H-AP (`alpha`)"} | SIGMOID,
        sentence="The label-tree average precision with soft comparisons everywhere: the plain form of Sup-H-AP.",
        unlike=(
            "Unlike Sup-H-AP, it counts with one sigmoid throughout, and its gradient passes through the numerator too."
        ),
        differs="",
        follows_code=False,
        parameters=SmoothHAPParameters,
        module=smooth_hap,
        order=205,
    ),
    replace(
        _SUP,
        name="sup_hap_weighted_ap",
        title="Weighted AP",
        equation=(
            r"\mathcal{L}=\mathcal{L}_{\text{Sup-H-AP}},\quad\mathrm{rel}_j=\sum_{p=1}^{l_j}"
            r"\frac{w_p}{|\bigcup_{q\ge p}\Omega^{(q)}|}"
        ),
        symbols={
            r"\mathcal{L}_{\text{Sup-H-AP}}": "the loss Sup-H-AP",
            r"\mathrm{rel}_j": "relevance of image j",
            "l_j": "number of levels of the label tree that image j shares with the query",
            "w_p": "weight of the average precision of level p, 1 being the coarsest (`level_weights_coarse_to_fine`)",
            r"\Omega^{(q)}": "images that share exactly q levels with the query",
        },
        sentence="Sup-H-AP weighted so that it equals a chosen mixture of the average precisions of the single levels.",
        unlike=("Unlike Sup-H-AP, its relevance makes the score a weighted mean of the levels' average precisions."),
        differs=(
            "The numerator is counted, without gradient, as in the published code; the paper of 2022 has a slope there "
            f"for finer images, which Sup-H-AP has as an option. {DIFFERS}"
        ),
        parameters=WeightedAPParameters,
        module=weighted_hap,
        order=207,
    ),
)


@dataclass(frozen=True, kw_only=True)
class HappierParameters(ProxyTermParameters, SupHAPParameters):
    """Parameters of HAPPIER: Sup-H-AP's, the weights and the proxies' temperature."""


@dataclass(frozen=True, kw_only=True)
class HappierFParameters(HappierParameters):
    """HAPPIER tuned for the finest level: alpha 5 (Ramzi et al. 2023, section VII-C), and nothing else."""

    alpha: float = default_of(SupHAPParameters, "alpha", 5.0)


def happier(parameters: HappierParameters, **classes: Any) -> RankLoss:
    """Build (1 - lambda) Sup-H-AP + lambda proxy softmax (Ramzi et al. 2022, Eq. 11)."""
    ranker = sup_hap_ranker(parameters)
    return RankLoss(ranker, name="hap", weights=parameters.weights, parameters=parameters, **classes)


_HAPPIER = LossDescriptor(
    name="happier",
    title="HAPPIER",
    family="Hierarchical ranking",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L} = (1-\lambda)\,\mathcal{L}_{\text{Sup-H-AP}}"
        r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
    ),
    symbols={
        r"\lambda": "weight of the proxy term (`weight_proxy`); 1 - λ is that of Sup-H-AP (`weight_rank`)",
        r"\mathcal{L}_{\text{Sup-H-AP}}": "the loss Sup-H-AP",
    }
    | SOFTMAX,
    sentence="Orders results by how much of the label tree they share; a proxy per class keeps classes tight.",
    unlike=("Unlike Sup-H-AP, it adds a softmax over learned proxies of the finest classes, which all batches share."),
    differs=f"{COUNTED} {DIFFERS}",
    follows_code=True,
    parameters=HappierParameters,
    module=happier,
    hierarchy=True,
    proxies=True,
    gallery=True,
    own_queries=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=200,
)

_HAPPIERS = (
    _HAPPIER,
    replace(
        _HAPPIER,
        name="happier_f",
        title="HAPPIER-F",
        sentence="HAPPIER leaning to the finest level: the exact class first, the rest of the tree second.",
        unlike=(
            "Unlike HAPPIER, it sets alpha to 5 instead of 1, so that relevance falls more steeply from the "
            "finest level to the coarsest."
        ),
        differs=(
            f"{COUNTED} alpha is the paper's for SOP (3 for iNaturalist) and all that is changed; the published "
            f"configuration of this name leaves alpha at 1 and sets both weights to 0.5 instead. {DIFFERS}"
        ),
        parameters=HappierFParameters,
        order=204,
    ),
)


DESCRIPTORS = (*_SUP_HAP, *_HAPPIERS)
