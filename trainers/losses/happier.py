"""HAPPIER: Sup-H-AP with class proxies that keep the finest classes together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trainers.losses._bound import DIFFERS
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._rank_loss import ProxyTermParameters, RankLoss
from trainers.losses._symbols import SOFTMAX
from trainers.losses.base import LossDescriptor
from trainers.losses.sup_hap import COUNTED, SupHAPParameters, sup_hap_ranker
from trainers.parameters import default_of


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

DESCRIPTORS = (
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
