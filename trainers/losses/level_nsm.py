"""The proxy softmax summed over the levels of the label tree, a baseline of hierarchical retrieval."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._levels import DIFFERS, LevelParameters, LevelSum, with_proxies
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._symbols import LEVEL_SOFTMAX
from trainers.losses.base import LossDescriptor
from trainers.losses.proxy_nsm import ProxyNSM, ProxyNSMParameters


@dataclass(frozen=True, kw_only=True)
class LevelNSMParameters(LevelParameters, ProxyNSMParameters):
    """Parameters of the proxy softmax, and of how the levels add up."""


def level_nsm(
    parameters: LevelNSMParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> LevelSum:
    """Build sum_l of the proxy softmax of level l, each level with its own proxies."""
    return with_proxies(
        parameters,
        lambda classes: ProxyNSM(parameters, num_classes=classes, dim=dim),
        title="NSM over levels",
        num_classes=num_classes,
        class_labels=class_labels,
    )


DESCRIPTOR = LossDescriptor(
    name="proxy_nsm_levels",
    title="NSM over levels",
    family="Proxy",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L}=\sum_l-\frac1B\sum_i\log\frac{\exp(x_i^\top p^{(l)}_{y_i}/T)}{\sum_z\exp(x_i^\top p^{(l)}_z/T)}"
    ),
    symbols=LEVEL_SOFTMAX,
    sentence="The proxy softmax at every level of the label tree, added up; each level has its own proxies.",
    unlike=(
        "Unlike Proxy softmax, it adds up one softmax for each level of the label tree, each over proxies of its own."
    ),
    differs=DIFFERS,
    parameters=LevelNSMParameters,
    module=level_nsm,
    hierarchy=True,
    proxies=True,
    level_proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=604,
)
