"""ProxyNCA++ summed over the levels of the label tree, a baseline of hierarchical retrieval."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._levels import LevelParameters, LevelSum, with_proxies
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._symbols import LEVEL_SOFTMAX
from trainers.losses.base import LossDescriptor
from trainers.losses.baselines_proxies import ProxyNCA, ProxyNCAParameters


@dataclass(frozen=True, kw_only=True)
class LevelNCAParameters(LevelParameters, ProxyNCAParameters):
    """Parameters of ProxyNCA++, and of how the levels add up."""


def level_nca(
    parameters: LevelNCAParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> LevelSum:
    """Build sum_l of ProxyNCA++ of level l, each level with its own proxies."""
    return with_proxies(
        parameters,
        lambda classes: ProxyNCA(parameters, num_classes=classes, dim=dim),
        title="NCA++ over levels",
        num_classes=num_classes,
        class_labels=class_labels,
    )


DESCRIPTOR = LossDescriptor(
    name="proxy_nca_pp_levels",
    title="NCA++ over levels",
    family="Proxy",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L}=\sum_l-\frac1B\sum_i\log\frac{\exp(-d^2(x_i,p^{(l)}_{y_i})/T)}"
        r"{\sum_z\exp(-d^2(x_i,p^{(l)}_z)/T)}"
    ),
    symbols=LEVEL_SOFTMAX | {"d": "Euclidean distance"},
    sentence="ProxyNCA++ at every level of the label tree, added up; each level has its own proxies.",
    unlike=(
        "Unlike ProxyNCA++, it adds up one softmax for each level of the label tree, each over proxies of its own."
    ),
    differs="The levels are added up, as the papers' tables name them. Their code has a configuration for the finest "
    "level only; averaging, as the code does for other losses, is `reduce_levels=mean`.",
    parameters=LevelNCAParameters,
    module=level_nca,
    hierarchy=True,
    proxies=True,
    level_proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=605,
)
