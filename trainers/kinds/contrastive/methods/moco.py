"""MoCo v1 and v2: a momentum key encoder and a queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from trainers.errors import UserError
from trainers.kinds.contrastive.methods.base import (
    Method,
    MethodDescriptor,
    MethodParameters,
    Needs,
    Outcome,
    Parts,
    Views,
)
from trainers.kinds.contrastive.moco import SHARING, MoCo, first_cross_entropy
from trainers.losses.infonce import temperature
from trainers.parameters import default_of, parameter


def queue_size(default: int) -> Any:
    """Return the parameter ``queue``."""
    return parameter(default, low=1, high=1_048_576, log=True, help="Keys of earlier batches to compare with.")


def momentum() -> Any:
    """Return the parameter ``momentum``."""
    return parameter(
        0.999, low=0.0, high=1.0, help="Share of itself that the key encoder keeps in a step; 0: it is the encoder."
    )


def shuffle() -> Any:
    """Return the parameter ``shuffle``."""
    return parameter(True, help="Encode keys in another order, so that batch statistics do not give the key away.")


@dataclass(frozen=True, kw_only=True)
class MoCoParameters(MethodParameters):
    queue: int = queue_size(65_536)
    momentum: float = momentum()
    temperature: float = temperature(0.07)
    positives: int = parameter(1, low=1, high=7, help="Views of its image that each query is compared with.")
    sharing: str = parameter(
        "separate",
        choices=SHARING,
        help="Parameters of the key encoder that are the encoder's own: none, all but the head's, or all.",
    )
    shuffle: bool = shuffle()


@dataclass(frozen=True, kw_only=True)
class MoCo2Parameters(MoCoParameters):
    temperature: float = default_of(MoCoParameters, "temperature", 0.2)


class MoCoMethod(Method):
    """See :class:`trainers.kinds.contrastive.moco.MoCo`; labels are not looked at."""

    def __init__(self, settings: MoCoParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.views = 1 + settings.positives
        self.moco = build(settings, parts, sharing=settings.sharing)

    def forward(self, views: Views) -> Outcome:
        """Compute the cross-entropy towards the own key, among it and the queue."""
        query, *keys = views.images
        return picked(self.moco(query, keys, views.rows))

    @property
    def dictionary(self) -> MoCo:
        """The queue."""
        return self.moco


def build(settings: Any, parts: Parts, **options: Any) -> MoCo:
    """Build the networks and the queue.

    Raises:
        UserError: the queue is larger than the set of training images.
    """
    if settings.queue > parts.images:
        raise UserError(
            f"The queue holds {settings.queue:,} keys and there are {parts.images:,} training images, so that an image "
            f"would be compared with its own earlier keys as if they were another's. Set the queue to at most "
            f"{parts.images:,}, for example {1 << (parts.images.bit_length() - 1)}."
        )
    return MoCo(
        parts.net,
        dim=parts.dim,
        queue_size=settings.queue,
        momentum=settings.momentum,
        temperature=settings.temperature,
        shuffle=settings.shuffle,
        **options,
    )


def picked(logits: Tensor) -> Outcome:
    """Compute the cross-entropy towards the own key, in column 0, and :func:`agreement`."""
    loss, accuracy = first_cross_entropy(logits)
    return Outcome(terms={"contrast": loss}, numbers={"contrast_accuracy": accuracy})


def own_and_queue(settings: Any, _batch: int) -> int:
    """Count the keys that a query is compared with: its own and the queue."""
    return 1 + int(settings.queue)


def _needs(settings: MoCoParameters, _images: int) -> Needs:
    return Needs(
        views=1 + settings.positives,
        following=int(settings.sharing != "shared"),
        compared=settings.queue,
        stored=settings.queue,
    )


def agreement(logits: Tensor) -> dict[str, Tensor]:
    """Return ``contrast_accuracy``: share of queries whose own key, in column 0, is closer than all others, no ties."""
    with torch.no_grad():
        return {"contrast_accuracy": (logits[:, 0] > logits[:, 1:].amax(1)).float().mean()}


_V1 = MethodDescriptor(
    name="moco_v1",
    title="MoCo v1",
    family="Without labels",
    sentence="Each view picks out the key of its image among thousands of keys of earlier batches, which a slowly "
    "moving copy of the encoder made.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020",
    url="https://arxiv.org/abs/1911.05722",
    parameters=MoCoParameters,
    module=MoCoMethod,
    mlp=False,
    candidates=own_and_queue,
    needs=_needs,
    order=1,
)

DESCRIPTORS = (
    _V1,
    replace(
        _V1,
        name="moco_v2",
        title="MoCo v2",
        sentence="MoCo with a projection head of two layers and a higher temperature.",
        paper="Improved Baselines with Momentum Contrastive Learning, Chen et al., 2020",
        url="https://arxiv.org/abs/2003.04297",
        parameters=MoCo2Parameters,
        mlp=True,
        order=2,
    ),
)
