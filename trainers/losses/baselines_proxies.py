"""Proxy baselines: Proxy Anchor and ProxyNCA++ by pytorch-metric-learning, ArcFace."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.errors import UserError
from trainers.losses._batch import unit
from trainers.losses._inputs import one_view, refuse_gallery
from trainers.losses._proxies import PROXY_LEARNING_RATE, draw_proxies
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


def known_classes(title: str, labels: Tensor, classes: int) -> Tensor:
    """The labels as int64, once each is known to have a proxy.

    Raises:
        UserError: a label is not in 0..classes - 1.
    """
    strange = labels[(labels < 0) | (labels >= classes)]
    if len(strange):
        raise UserError(
            f"{title} has proxies for classes 0 to {classes - 1}; label {int(strange[0])} came. "
            f"Build the loss with num_classes of the training set."
        )
    return labels.long()


class ProxyPairs(LossModule):
    """A proxy loss of pytorch-metric-learning that keeps its proxies as ``proxies [C, D]``."""

    def __init__(self, title: str, loss: nn.Module, num_classes: int, dim: int) -> None:
        super().__init__()
        loss.proxies = draw_proxies(num_classes, dim)
        self.title, self.loss = title, loss

    @property
    def proxies(self) -> Tensor:
        """``[C, D]`` raw."""
        return self.loss.proxies

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        refuse_gallery(self.title, gallery)
        rows, row_labels = one_view(embeddings, labels)
        row_labels = known_classes(self.title, row_labels, len(self.proxies))
        # The library would change the proxies' type to that of the rows.
        return {"proxy": self.loss(rows.to(self.proxies.dtype), row_labels)}


@dataclass(frozen=True, kw_only=True)
class ProxyAnchorParameters:
    margin: float = parameter(0.1, low=0.0, high=1.0, help="How far past 0 the cosines are pushed to either side.")
    alpha: float = parameter(32.0, low=1.0, high=128.0, log=True, help="Sharpness: how much the hardest images count.")


def _proxy_anchor(
    parameters: ProxyAnchorParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> ProxyPairs:
    from pytorch_metric_learning import losses  # slow to import

    loss = losses.ProxyAnchorLoss(num_classes, dim, margin=parameters.margin, alpha=parameters.alpha)
    return ProxyPairs("Proxy Anchor", loss, num_classes, dim)


@dataclass(frozen=True, kw_only=True)
class ProxyNCAParameters:
    temperature: float = parameter(
        1 / 9, low=0.01, high=1.0, log=True, help="Divides the squared distances; lower makes the softmax sharper."
    )


def _proxy_nca(
    parameters: ProxyNCAParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> ProxyPairs:
    from pytorch_metric_learning import losses

    loss = losses.ProxyNCALoss(num_classes, dim, softmax_scale=1 / parameters.temperature)
    return ProxyPairs("ProxyNCA++", loss, num_classes, dim)


@dataclass(frozen=True, kw_only=True)
class ArcFaceParameters:
    margin: float = parameter(0.5, low=0.0, high=1.5, help="Angle in radians added between an image and its class.")
    scale: float = parameter(64.0, low=1.0, high=256.0, log=True, help="Sharpness: multiplies the cosines.")


class ArcFace(LossModule):
    """Softmax over scaled cosines to the proxies, with an angle added to the true class's.

    Beyond pi - margin, where cos(theta + margin) would rise again, the target is cos(theta) - margin sin(margin).
    """

    def __init__(
        self, parameters: ArcFaceParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> None:
        super().__init__()
        self.settings = parameters
        self.proxies = draw_proxies(num_classes, dim)

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        refuse_gallery("ArcFace", gallery)
        rows, row_labels = one_view(embeddings, labels)
        row_labels = known_classes("ArcFace", row_labels, len(self.proxies))[:, None]
        margin, cosine = self.settings.margin, rows @ unit(self.proxies).to(rows.dtype).T
        own = cosine.gather(1, row_labels)
        # The slope of the sine is infinite where image and proxy coincide; below the floor it is cut to 0.
        sine = (1 - own.square()).clamp(min=1e-7).sqrt()
        moved = own * math.cos(margin) - sine * math.sin(margin)
        moved = torch.where(own >= -math.cos(margin), moved, own - margin * math.sin(margin))
        logits = self.settings.scale * cosine.scatter(1, row_labels, moved)
        return {"proxy": functional.cross_entropy(logits, row_labels[:, 0])}


DESCRIPTORS = (
    LossDescriptor(
        name="proxy_anchor",
        title="Proxy Anchor",
        family="Proxy",
        paper="Proxy Anchor Loss for Deep Metric Learning, Kim et al., CVPR",
        year=2020,
        url="https://arxiv.org/abs/2003.13911",
        equation=(
            r"\mathcal{L}=\frac1{|P^+|}\sum_{p\in P^+}\log\Big(1+\sum_{x\in X_p^+}e^{-\alpha(s_{xp}-\delta)}\Big)"
            r"+\frac1{|P|}\sum_{p\in P}\log\Big(1+\sum_{x\in X_p^-}e^{\alpha(s_{xp}+\delta)}\Big)"
        ),
        sentence="Each class's proxy pulls the images of its class and pushes the others, the hardest ones most.",
        parameters=ProxyAnchorParameters,
        module=_proxy_anchor,
        proxies=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=600,
    ),
    LossDescriptor(
        name="proxy_nca_pp",
        title="ProxyNCA++",
        family="Proxy",
        paper="ProxyNCA++: Revisiting and Revitalizing Proxy Neighborhood Component Analysis, Teh et al., ECCV",
        year=2020,
        url="https://arxiv.org/abs/2004.01113",
        equation=r"\mathcal{L}=\frac1B\sum_i-\log\frac{\exp(-d^2(x_i,p_{y_i})/T)}{\sum_z\exp(-d^2(x_i,p_z)/T)}",
        sentence="Each image picks out its class's proxy by squared distance from those of all classes.",
        parameters=ProxyNCAParameters,
        module=_proxy_nca,
        proxies=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=601,
    ),
    LossDescriptor(
        name="arcface",
        title="ArcFace",
        family="Proxy",
        paper="ArcFace: Additive Angular Margin Loss for Deep Face Recognition, Deng et al., CVPR",
        year=2019,
        url="https://arxiv.org/abs/1801.07698",
        equation=(
            r"\mathcal{L}=\frac1B\sum_i-\log\frac{e^{s\cos(\theta_{y_i}+m)}}"
            r"{e^{s\cos(\theta_{y_i}+m)}+\sum_{z\neq y_i}e^{s\cos\theta_z}}"
        ),
        sentence="A softmax over class directions that asks for an extra angle between an image and its own class.",
        parameters=ArcFaceParameters,
        module=ArcFace,
        proxies=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=602,
    ),
)
