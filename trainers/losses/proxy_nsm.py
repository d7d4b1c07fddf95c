"""Normalised softmax over class proxies: a classifier whose weights are directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from trainers.losses._batch import query_rows
from trainers.losses._proxies import PROXY_LEARNING_RATE, draw_proxies, proxy_softmax
from trainers.losses._symbols import SOFTMAX
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class ProxyNSMParameters:
    """Parameters of the proxy softmax."""

    temperature: float = parameter(0.05, low=0.005, high=1.0, log=True, help="Lower makes the softmax sharper.")
    num_centers: int = parameter(1, low=1, high=16, help="Proxies per class; more than one lets a class have modes.")
    temperature_centers: float = parameter(
        0.1, low=0.005, high=1.0, log=True, help="How sharply a class's proxies are pooled."
    )


class ProxyNSM(LossModule):
    """Zhai and Wu, "Classification is a Strong Baseline for Deep Metric Learning", BMVC 2019.

    Also the decomposability term of ROADMAP++ and HAPPIER (Ramzi et al. 2023, Eq. 8). Works on the finest labels, which
    number the proxies.
    """

    def __init__(self, parameters: ProxyNSMParameters, *, num_classes: int, dim: int, **_classes: Any) -> None:
        super().__init__(parameters)
        self.proxies = draw_proxies(num_classes * parameters.num_centers, dim)

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return ``proxy``: the mean cross-entropy; a gallery is not looked at."""
        queries, finest = query_rows(embeddings, labels)
        given = self.settings
        loss = proxy_softmax(
            queries, finest, self.proxies, given.temperature, given.num_centers, given.temperature_centers
        )
        return {"proxy": loss}


_NSM = LossDescriptor(
    name="proxy_nsm",
    title="Proxy softmax",
    family="Decomposability",
    paper="Classification is a Strong Baseline for Deep Metric Learning, Zhai and Wu, BMVC",
    year=2019,
    url="https://arxiv.org/abs/1811.12649",
    equation=r"\mathcal{L} = -\frac{1}{B}\sum_i \log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z \exp(x_i^\top p_z/T)}",
    symbols=SOFTMAX,
    sentence="Learns one direction per class and asks every image to point closer to its own than to the others.",
    unlike=("Unlike Calibration (pairs), it compares images with learned proxies of the classes, not with each other."),
    parameters=ProxyNSMParameters,
    module=ProxyNSM,
    proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=701,
)

DESCRIPTORS = (_NSM, replace(_NSM, name="normalized_softmax", alias_of="proxy_nsm", order=702))
