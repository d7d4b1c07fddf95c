"""SimCLR, and supervised contrastive learning: within the batch, or with a queue of labelled keys."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.errors import UserError
from trainers.kinds.contrastive.methods.base import (
    Method,
    MethodDescriptor,
    MethodOutcome,
    MethodParameters,
    Needs,
    Parts,
    Views,
)
from trainers.kinds.contrastive.methods.moco import MoCoParameters, agreement, build, own_and_queue, queue_size, shuffle
from trainers.kinds.contrastive.moco import MoCo
from trainers.kinds.contrastive.networks import encode_whole
from trainers.losses import LOSSES
from trainers.losses.infonce import (
    SupConParameters,
    Temperatures,
    base_temperature,
    positive_cross_entropy,
    temperature,
)
from trainers.parameters import default_of, parameter


@dataclass(frozen=True, kw_only=True)
class SimCLRMethodParameters(MethodParameters):
    temperature: float = temperature(0.5)


class SimCLRMethod(Method):
    """The loss ``simclr`` on the projections of two views."""

    def __init__(self, settings: SimCLRMethodParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.loss = LOSSES["simclr"].build(num_classes=0, dim=parts.dim, temperature=settings.temperature)

    def forward(self, views: Views) -> MethodOutcome:
        """Compute NT-Xent.

        Raises:
            UserError: a batch of one image.
        """
        views.need_two("SimCLR")
        return MethodOutcome(terms=self.loss.terms(projections(self, views), views.rows))


def other_views(_settings: object, batch: int) -> int:
    """Count the keys that a view is compared with: all other views of the batch, two of each image."""
    return 2 * batch - 1


def projections(method: Method, views: Views) -> torch.Tensor:
    """Encode all views as one batch, ``[N, V, D]`` raw."""
    raw = encode_whole(method.net, torch.cat(views.images), len(views.images))
    return raw.reshape(len(views.images), len(views.rows), -1).transpose(0, 1)


_SIMCLR = MethodDescriptor(
    name="simclr",
    title="SimCLR",
    family="Without labels",
    sentence="Each view picks out the other view of its image among all views of the batch.",
    paper="A Simple Framework for Contrastive Learning of Visual Representations, Chen et al., ICML 2020",
    url="https://arxiv.org/abs/2002.05709",
    parameters=SimCLRMethodParameters,
    module=SimCLRMethod,
    together=True,
    candidates=other_views,
    order=3,
)


@dataclass(frozen=True, kw_only=True)
class Shared(Temperatures, MethodParameters):
    """The parameters that SupCon has within the batch and with a queue."""

    base_temperature: float | None = base_temperature(0.07)
    positives: str = parameter(
        "out", choices=("out", "in"), help="Sum over positives outside the logarithm (equation 2) or inside (3)."
    )
    joint: bool = parameter(
        False, help="Train the linear classifier at the same time, without gradient into the encoder."
    )


@dataclass(frozen=True, kw_only=True)
class SupConMethodParameters(Shared):
    contrast_mode: str = default_of(SupConParameters, "contrast_mode", "all")


class SupConMethod(Method):
    """The losses ``supcon_out`` and ``supcon_in`` on the projections of two views."""

    def __init__(self, settings: SupConMethodParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.classifier = "beside" if settings.joint else "after"
        self.loss = LOSSES[f"supcon_{settings.positives}"].build(
            num_classes=parts.classes,
            dim=parts.dim,
            temperature=settings.temperature,
            base_temperature=settings.base_temperature,
            contrast_mode=settings.contrast_mode,
        )

    def forward(self, views: Views) -> MethodOutcome:
        """Compute SupCon.

        Raises:
            UserError: a batch of one image.
        """
        views.need_two("SupCon")
        labels = _labels(views)
        numbers = {"positives_share": _share_with_positive(labels)}
        return MethodOutcome(terms=self.loss.terms(projections(self, views), labels), numbers=numbers)


@dataclass(frozen=True, kw_only=True)
class SupConQueueParameters(Shared):
    queue: int = queue_size(8192)
    momentum: float = default_of(MoCoParameters, "momentum", 0.999)
    shuffle: bool = shuffle()


class SupConQueue(Method):
    """SupCon whose candidates are each anchor's own key and a queue: those of its class are positives."""

    def __init__(self, settings: SupConQueueParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.classifier = "beside" if settings.joint else "after"
        self.moco = build(settings, parts)

    def forward(self, views: Views) -> MethodOutcome:
        """Compute SupCon against own key and queue."""
        labels = _labels(views)
        query, key = views.images
        queue = self.moco.dictionary
        same = queue.labels == send(labels, queue.labels.device)[:, None]
        logits = self.moco(query, key, views.rows, labels)
        positive = torch.cat([torch.ones_like(same[:, :1]), same], 1)
        losses = positive_cross_entropy(logits, positive, inside=self.settings.positives == "in")
        return MethodOutcome(
            terms={"contrast": losses.mean() * self.settings.factor},
            numbers=agreement(logits) | {"positives_share": same.any(1).float().mean()},
        )

    @property
    def dictionary(self) -> MoCo:
        """The queue."""
        return self.moco


def _labels(views: Views) -> Tensor:
    if views.labels is None:
        raise UserError(
            "SupCon needs the class of every image, and these images have none. Choose MoCo or SimCLR, or name the "
            "label columns."
        )
    return views.labels


def _share_with_positive(labels: Tensor) -> Tensor:
    """Share of images with another image of their class in the batch."""
    _, inverse, counts = torch.unique(labels, return_inverse=True, return_counts=True)
    return (counts[inverse] > 1).float().mean()


_OUT = MethodDescriptor(
    name="supcon",
    title="SupCon",
    family="With labels",
    sentence="Each view picks out all views of its class in the batch.",
    paper="Supervised Contrastive Learning, Khosla et al., NeurIPS 2020",
    url="https://arxiv.org/abs/2004.11362",
    parameters=SupConMethodParameters,
    module=SupConMethod,
    candidates=other_views,
    labels=True,
    together=True,
    order=11,
)

DESCRIPTORS = (
    _SIMCLR,
    _OUT,
    replace(
        _OUT,
        name="supcon_queue",
        title="SupCon with a queue",
        sentence="SupCon against a queue of labelled keys from a momentum encoder, for small batches.",
        parameters=SupConQueueParameters,
        module=SupConQueue,
        together=False,
        candidates=own_and_queue,
        needs=lambda settings, _images: Needs(following=1, compared=settings.queue, stored=settings.queue),
        order=12,
    ),
)
