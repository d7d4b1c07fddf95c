"""MoCo v1 and v2, a momentum key encoder and a queue; and what they are compared with (figure 2 of He et al. 2020).

The end-to-end mechanism has keys of the same batch, with gradient; the memory bank has stored features of all images.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

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
from trainers.kinds.contrastive.moco import NONE, SHARING, MoCo, first_cross_entropy, shuffled, spread
from trainers.kinds.contrastive.networks import encode, encode_whole
from trainers.losses.infonce import temperature
from trainers.parameters import default_of, parameter


def queue_size(default: int) -> Any:
    """Return the parameter ``queue``."""
    return parameter(default, low=1, high=1_048_576, log=True, help="Keys of earlier batches to compare with.")


def shuffle() -> Any:
    """Return the parameter ``shuffle``."""
    return parameter(True, help="Encode keys in another order, so that batch statistics do not give the key away.")


@dataclass(frozen=True, kw_only=True)
class MoCoParameters(MethodParameters):
    queue: int = queue_size(65_536)
    momentum: float = parameter(
        0.999, low=0.0, high=1.0, help="Share of itself that the key encoder keeps in a step; 0: it is the encoder."
    )
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

    def forward(self, views: Views) -> MethodOutcome:
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


def picked(logits: Tensor) -> MethodOutcome:
    """Compute the cross-entropy towards the own key, in column 0, and :func:`agreement`."""
    loss, accuracy = first_cross_entropy(logits)
    return MethodOutcome(terms={"contrast": loss}, numbers={"contrast_accuracy": accuracy})


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

_MOCO = (
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


@dataclass(frozen=True, kw_only=True)
class EndToEndParameters(MethodParameters):
    temperature: float = temperature(0.07)
    sharing: str = parameter(
        "shared", choices=("shared", "separate"), help="One encoder for queries and keys, or one for each."
    )
    shuffle: bool = shuffle()


class EndToEnd(Method):
    """The end-to-end method: each query picks out its own key from the keys of the batch, through which gradient flows
    too.

    The dictionary is the batch. With separate encoders the second one starts as a copy and is trained.
    """

    def __init__(self, settings: EndToEndParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.key_net = self.net if settings.sharing == "shared" else copy.deepcopy(self.net)

    def forward(self, views: Views) -> MethodOutcome:
        """Compute the cross-entropy towards the own key among those of the batch.

        Raises:
            UserError: a batch of one image.
        """
        views.need_two("The end-to-end mechanism")
        query, key = views.images
        queries = functional.normalize(encode_whole(self.net, query), dim=1)
        keys = partial(encode_whole, self.key_net)
        encoded = shuffled(keys, key) if self.settings.shuffle else keys(key)
        logits = queries @ functional.normalize(encoded, dim=1).T / self.settings.temperature
        loss = functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
        own_first = torch.cat([logits.diagonal()[:, None], _without_diagonal(logits)], 1)
        return MethodOutcome(terms={"contrast": loss}, numbers=agreement(own_first))


def _without_diagonal(square: torch.Tensor) -> torch.Tensor:
    """Cut the diagonal out of ``[N, N]``: ``[N, N - 1]``."""
    count = len(square)
    return square.detach().reshape(-1)[1:].reshape(count - 1, count + 1)[:, :-1].reshape(count, count - 1)


_END_TO_END = MethodDescriptor(
    name="end_to_end",
    title="End-to-end",
    family="Without labels",
    sentence="Each view picks out the other view of its image in the batch, which is the whole dictionary.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020, figure 2a",
    url="https://arxiv.org/abs/1911.05722",
    parameters=EndToEndParameters,
    module=EndToEnd,
    mlp=False,
    candidates=lambda _settings, batch: batch,
    needs=lambda settings, _images: Needs(trained=1 if settings.sharing == "shared" else 2),
    order=4,
)


class MemoryBank(nn.Module):
    """Logits of queries against their own stored features and a sample of the others.

    Only the features of the batch's images are refreshed, after the logits: each becomes the unit vector of
    ``momentum`` of itself and the rest of the new one. The momentum is on features; there is no second encoder.

    The loss on these logits is InfoNCE, as He et al. compare the mechanisms; Wu et al. train by noise-contrastive
    estimation with a proximal term, and draw 4,096 features for each image. A query's own feature is left out of those
    drawn; in their set of a million images it is hardly ever among them.

    Args:
        encoder: from images to raw ``[N, dim]``.
        images: M, training images.
        dim: D.
        negatives: K, features drawn for each batch, with repetition, from all M.
        momentum: 0 to 1.
        temperature: divides the logits.

    Attributes:
        features: ``[M, D]``, random unit rows until they are refreshed.
        written: int64 ``[M]``, number of the batch that each was refreshed with last; -1: not yet.
        batches: int64 scalar, batches so far.
    """

    features: Tensor
    written: Tensor
    batches: Tensor

    def __init__(
        self, encoder: nn.Module, *, images: int, dim: int, negatives: int, momentum: float, temperature: float
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.negatives, self.momentum, self.temperature = negatives, momentum, temperature
        self.register_buffer("features", functional.normalize(torch.randn(images, dim), dim=1))
        self.register_buffer("written", torch.full((images,), NONE, dtype=torch.int64))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def forward(self, images: Tensor, rows: Tensor) -> Tensor:
        """Take a step.

        Args:
            images: ``[N, C, H, W]``.
            rows: int64 ``[N]``, which of the M images they are.

        Returns:
            ``[N, 1 + K]`` over the temperature, the own feature first; minus infinity where it was drawn again.
        """
        queries = functional.normalize(encode_whole(self.encoder, images), dim=1)
        rows = send(rows, self.features.device)
        drawn = send(torch.randint(len(self.features), (self.negatives,)), rows.device)
        positives, others = self.features[rows], self.features[drawn]
        strange = (queries @ others.T).masked_fill(drawn == rows[:, None], -math.inf)
        logits = torch.cat([(queries * positives).sum(1, keepdim=True), strange], 1) / self.temperature
        with torch.no_grad():
            self.features[rows] = functional.normalize(torch.lerp(queries.detach(), positives, self.momentum), dim=1)
            self.written[rows] = self.batches
            self.batches += 1
        return logits

    @property
    def filled(self) -> float:
        """Share of the features that were refreshed, 0 to 1."""
        return float((self.written != NONE).float().mean())

    def sample(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Sample at most ``count`` refreshed features, evenly over their ages, youngest first.

        Returns:
            unit features ``[n, D]``, training rows int64 ``[n]``, ages in batches int64 ``[n]``.
        """
        rows = torch.nonzero(self.written != NONE)[:, 0]
        rows = rows[self.written[rows].argsort(descending=True, stable=True)]
        picked = rows[spread(len(rows), count).to(rows.device)]
        return self.features[picked], picked, self.batches - 1 - self.written[picked]

    @torch.no_grad()
    def encode_keys(self, images: Tensor) -> Tensor:
        """Encode images as raw features ``[N, D]``."""
        return encode(self.encoder, images)


@dataclass(frozen=True, kw_only=True)
class MemoryBankParameters(MethodParameters):
    negatives: int = parameter(
        65_536, low=1, high=1_048_576, log=True, help="Stored features drawn to compare a batch with."
    )
    momentum: float = parameter(0.5, low=0.0, high=1.0, help="Share of itself that a stored feature keeps.")
    temperature: float = temperature(0.07)


class MemoryBankMethod(Method):
    """See :class:`MemoryBank`."""

    views = 1

    def __init__(self, settings: MemoryBankParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.bank = MemoryBank(
            parts.net,
            images=parts.images,
            dim=parts.dim,
            negatives=settings.negatives,
            momentum=settings.momentum,
            temperature=settings.temperature,
        )

    def forward(self, views: Views) -> MethodOutcome:
        """Compute the cross-entropy towards the own stored feature, among it and those drawn."""
        logits = self.bank(views.images[0], views.rows)
        return picked(logits)

    @property
    def dictionary(self) -> MemoryBank:
        """The stored features."""
        return self.bank


_MEMORY_BANK = MethodDescriptor(
    name="memory_bank",
    title="Memory bank",
    family="Without labels",
    sentence="Each image picks out its own feature, stored when it was last drawn, among stored features of others.",
    paper="Unsupervised Feature Learning via Non-Parametric Instance Discrimination, Wu et al., CVPR 2018",
    url="https://arxiv.org/abs/1805.01978",
    parameters=MemoryBankParameters,
    module=MemoryBankMethod,
    mlp=False,
    candidates=lambda settings, _batch: 1 + int(settings.negatives),
    needs=lambda settings, images: Needs(views=1, compared=settings.negatives, stored=images),
    order=5,
)


DESCRIPTORS = (*_MOCO, _END_TO_END, _MEMORY_BANK)
