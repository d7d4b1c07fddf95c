"""Linear layers side by side, each trained with its own learning rate, and the features that they classify."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import send

MOMENTUM = 0.9
SPREAD = 0.01  # standard deviation of the first weights; the first biases are zero
BLOCK = 2**22  # logits at once


@dataclass(frozen=True, kw_only=True)
class Images:
    """Features with a column of ones for the bias, and their classes.

    Attributes:
        features: ``[N, F + 1]``.
        classes: int64 ``[N]`` on the same device, -1 for a class that no training image has.
    """

    features: Tensor
    classes: Tensor

    @classmethod
    def of(cls, features: Tensor, classes: np.ndarray, rows: np.ndarray, dtype: torch.dtype) -> Images:
        """Take some rows of features ``[N, F]`` with classes ``[N]``."""
        device = features.device
        chosen = features[send(rows, device)].to(dtype)
        return cls(
            features=torch.cat([chosen, chosen.new_ones(len(chosen), 1)], 1), classes=send(classes[rows], device)
        )


class Heads:
    """R linear layers side by side in one matrix ``[F + 1, R * C]``, each with its own rate."""

    def __init__(
        self,
        features: int,
        classes: int,
        rates: Sequence[float],
        *,
        seed: int,
        decay: float,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        first = torch.randn(features, classes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        first = torch.cat([first * SPREAD, torch.zeros(1, classes, dtype=torch.float64)]).to(dtype)
        self.shape = (len(rates), classes)
        self._decay = decay
        self._rates = send(torch.tensor(rates, dtype=dtype).repeat_interleave(classes), device)
        self._weights = send(first.repeat(1, len(rates)), device)
        self._velocity = torch.zeros_like(self._weights)

    def step(self, features: Tensor, classes: Tensor, factor: float) -> Tensor:
        """Take one step with every layer, ``factor`` on the rates, and return the mean loss before it, ``[R]``."""
        probabilities, loss = self._softmax(features, classes)
        probabilities[torch.arange(len(classes), device=classes.device), :, classes] -= 1
        gradient = features.T @ probabilities.flatten(1) / len(features)
        if self._decay:
            gradient.add_(self._weights, alpha=self._decay)
        self._velocity.mul_(MOMENTUM).add_(gradient)
        self._weights.addcmul_(self._velocity, self._rates, value=-factor)
        return loss.mean(0)

    def accuracy(self, images: Images) -> Tensor:
        """Share of images that every layer classifies correctly, float64 ``[R]``."""
        right = []
        for logits, classes in self._parts(images):
            first = (logits >= logits.gather(2, self._columns(classes))).sum(2) == 1
            right.append(first & (classes >= 0)[:, None] & logits.sum(2).isfinite())
        return torch.cat(right).double().mean(0)

    def loss(self, images: Images) -> Tensor:
        """Return the mean cross-entropy of every layer, float64 ``[R]``."""
        losses = [
            logits.logsumexp(2) - logits.gather(2, self._columns(classes))[..., 0]
            for logits, classes in self._parts(images)
        ]
        return torch.cat(losses).double().mean(0)

    def _parts(self, images: Images) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield logits ``[b, R, C]`` and classes ``[b]`` of all images, in bounded memory."""
        step = max(1, BLOCK // math.prod(self.shape))
        for first in range(0, len(images.classes), step):
            part = slice(first, first + step)
            yield self._logits(images.features[part]), images.classes[part]

    def _logits(self, features: Tensor) -> Tensor:
        """Return logits ``[b, R, C]``."""
        logits: Tensor = (features @ self._weights).unflatten(1, self.shape)
        return logits

    def _softmax(self, features: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities ``[b, R, C]`` and losses ``[b, R]``."""
        logs = self._logits(features).log_softmax(2)
        return logs.exp(), -logs.gather(2, self._columns(classes))[..., 0]

    def _columns(self, classes: Tensor) -> Tensor:
        """Return the columns of classes, ``[b, R, 1]``; an unknown class stands for the first."""
        return classes.clamp(min=0)[:, None, None].expand(-1, self.shape[0], 1)
