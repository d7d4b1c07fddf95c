"""The memory bank (Wu et al. 2018; figure 2b of He et al. 2020): a feature of every training image."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import send
from trainers.kinds.contrastive.methods.base import (
    Method,
    MethodDescriptor,
    MethodParameters,
    Needs,
    Outcome,
    Parts,
    Views,
)
from trainers.kinds.contrastive.methods.moco import picked
from trainers.kinds.contrastive.networks import encode, encode_whole
from trainers.kinds.contrastive.queue import NONE, spread
from trainers.losses.infonce import temperature
from trainers.parameters import parameter


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

    def forward(self, views: Views) -> Outcome:
        """Compute the cross-entropy towards the own stored feature, among it and those drawn."""
        logits = self.bank(views.images[0], views.rows)
        return picked(logits)

    @property
    def dictionary(self) -> MemoryBank:
        """The stored features."""
        return self.bank


DESCRIPTOR = MethodDescriptor(
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
