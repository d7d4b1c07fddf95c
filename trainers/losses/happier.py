"""HAPPIER: Sup-H-AP with class proxies that keep the finest classes together."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._bound import DIFFERS
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._rank_loss import RankLoss
from trainers.losses.base import LossDescriptor
from trainers.losses.sup_hap import ALPHA_HELP, COUNTED, SupHAPParameters, sup_hap_ranker
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class HappierParameters(SupHAPParameters):
    """Parameters of HAPPIER: Sup-H-AP's, the weights and the proxies' temperature."""

    weight_rank: float = parameter(0.9, low=0.0, high=10.0, help="Weight of the rank term.")
    weight_proxy: float = parameter(0.1, low=0.0, high=10.0, help="Weight of the proxy softmax on the finest level.")
    temperature: float = parameter(0.05, low=0.005, high=1.0, log=True, help="Temperature of the proxy softmax.")


@dataclass(frozen=True, kw_only=True)
class HappierFParameters(HappierParameters):
    """HAPPIER tuned for the finest level: alpha 5 (Ramzi et al. 2023, section VII-C), and nothing else."""

    alpha: float = parameter(5.0, low=0.0, high=10.0, help=ALPHA_HELP)


def happier(
    parameters: HappierParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> RankLoss:
    """(1 - lambda) Sup-H-AP + lambda proxy softmax (Ramzi et al. 2022, Eq. 11)."""
    return RankLoss(
        sup_hap_ranker(parameters),
        name="hap",
        weight_rank=parameters.weight_rank,
        weight_proxy=parameters.weight_proxy,
        temperature=parameters.temperature,
        num_classes=num_classes,
        dim=dim,
    )


PAPER = "Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV"
URL = "https://arxiv.org/abs/2207.04873"
EQUATION = (
    r"\mathcal{L} = (1-\lambda)\,\mathcal{L}_{\text{Sup-H-AP}}"
    r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
)

DESCRIPTORS = (
    LossDescriptor(
        name="happier",
        title="HAPPIER",
        family="Hierarchical ranking",
        paper=PAPER,
        year=2022,
        url=URL,
        equation=EQUATION,
        sentence="Orders results by how much of the label tree they share; a proxy per class keeps classes tight.",
        differs=f"{COUNTED} {DIFFERS}",
        follows_code=True,
        parameters=HappierParameters,
        module=happier,
        hierarchy=True,
        proxies=True,
        gallery=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=200,
    ),
    LossDescriptor(
        name="happier_f",
        title="HAPPIER-F",
        family="Hierarchical ranking",
        paper=PAPER,
        year=2022,
        url=URL,
        equation=EQUATION,
        sentence="HAPPIER leaning to the finest level: the exact class first, the rest of the tree second.",
        differs=(
            f"{COUNTED} alpha is the paper's for SOP (3 for iNaturalist) and all that is changed; the published "
            f"configuration of this name leaves alpha at 1 and sets both weights to 0.5 instead. {DIFFERS}"
        ),
        follows_code=True,
        parameters=HappierFParameters,
        module=happier,
        hierarchy=True,
        proxies=True,
        gallery=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=204,
    ),
)
