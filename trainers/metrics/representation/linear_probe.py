"""Linear classification of frozen features, for a grid of learning rates that are trained at once.

Linear classification of frozen features, for a grid of learning rates that are trained at once.

After He et al., "Momentum Contrast for Unsupervised Visual Representation Learning", CVPR 2020, section 4.1: the
features are those of the encoder before any head, pooled, neither normalised nor standardised; one linear layer,
cross-entropy, SGD with momentum, no weight decay, the rate divided by ten at 60 % and 80 % of the training. Rates are
far higher than usual because the features are not scaled; the paper found 30. Here the images are not augmented
again, and the rate is chosen on a held-out tenth of the training images, never on the test images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import read, send
from trainers.errors import UserError
from trainers.metrics.checks import check_labels, check_rows

MOMENTUM = 0.9
SPREAD = 0.01  # standard deviation of the first weights; the first biases are zero
BLOCK = 2**22  # logits at once


@dataclass(frozen=True, kw_only=True)
class ProbeFeatures:
    """Features with a column of ones for the bias, and their classes.

    Attributes:
        features: ``[N, F + 1]``.
        classes: int64 ``[N]`` on the same device, -1 for a class that no training image has.
    """

    features: Tensor
    classes: Tensor

    @classmethod
    def of(cls, features: Tensor, classes: np.ndarray, rows: np.ndarray, dtype: torch.dtype) -> ProbeFeatures:
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

    def accuracy(self, images: ProbeFeatures) -> Tensor:
        """Share of images that every layer classifies correctly, float64 ``[R]``."""
        right = []
        for logits, classes in self._parts(images):
            first = (logits >= logits.gather(2, self._columns(classes))).sum(2) == 1
            right.append(first & (classes >= 0)[:, None] & logits.sum(2).isfinite())
        return torch.cat(right).double().mean(0)

    def loss(self, images: ProbeFeatures) -> Tensor:
        """Return the mean cross-entropy of every layer, float64 ``[R]``."""
        losses = [
            logits.logsumexp(2) - logits.gather(2, self._columns(classes))[..., 0]
            for logits, classes in self._parts(images)
        ]
        return torch.cat(losses).double().mean(0)

    def _parts(self, images: ProbeFeatures) -> Iterator[tuple[Tensor, Tensor]]:
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


RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
BATCH = 256
DROPS = (0.6, 0.8)
DROP = 0.1
HELD_OUT = 10  # one training image of so many chooses the rate
POINTS = 50  # of the curve


@dataclass(frozen=True, kw_only=True)
class ProbeCurve:
    """The record of the layers' training.

    Attributes:
        steps: int64 ``[P]``, steps done.
        loss: float64 ``[P, R]``, cross-entropy of the batches since the point before; NaN once a rate has diverged.
        accuracy: float64 ``[P, R]``, share of held-out images that are classified correctly.
    """

    steps: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray


@dataclass(frozen=True, kw_only=True)
class LinearProbeResult:
    """A linear probe.

    Attributes:
        rates: R learning rates.
        held_out: accuracy on the held-out training images at each rate; NaN: that rate diverged.
        rate: the one that is best there; NaN: all diverged. Between equals the one with the lower held-out loss.
        accuracy: on the test images, at that rate; NaN: all diverged.
        curve: of all rates.
    """

    rates: tuple[float, ...]
    held_out: tuple[float, ...]
    rate: float
    accuracy: float
    curve: ProbeCurve

    @property
    def diverged(self) -> tuple[float, ...]:
        """The rates at which weights or losses stopped being finite numbers."""
        return tuple(rate for rate, value in zip(self.rates, self.held_out, strict=True) if math.isnan(value))


@torch.no_grad()
def linear_probe(
    train: Tensor,
    train_labels: Tensor,
    test: Tensor,
    test_labels: Tensor,
    *,
    rates: Sequence[float] = RATES,
    steps: int = 1000,
    seed: int = 0,
    weight_decay: float = 0.0,
    batch: int = BATCH,
    progress: Callable[[int], None] | None = None,
) -> LinearProbeResult:
    """Train one linear layer per rate and score the one that does best on held-out training images.

    Every tenth training image, of each class about alike, is held out. All rates see the same batches and start from
    the same weights, so one rate's result depends on the others by rounding at most. The same arguments give the
    same result on the same device. Ties never help: an image is right if no other class scores as high.

    Args:
        train, test: features ``[N, F]`` and ``[M, F]``, floating, on one device; computed in float64 where they are,
            else in float32.
        train_labels, test_labels: ``[N]`` or ``[N, L]``, of which the finest are used. A test image whose class has
            no training image is wrong.
        rates: learning rates.
        steps: of training.
        seed: of the held-out images, the first weights and the batches.
        weight_decay: added to the gradient, of the biases too.
        batch: images in a batch; fewer where there are not so many.
        progress: called with the number of steps done so far; it may raise to stop.

    Raises:
        UserError: shapes do not fit, values are not finite, there are fewer than two training images or classes, or
            a rate or a number of steps is not positive.
    """
    known, asked = _checked(train, train_labels, test, test_labels, rates, steps)
    classes, numbers = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise UserError("A linear probe needs training images of two classes or more; all are of one class.")
    kept, held = held_out(numbers, seed)
    dtype = torch.float64 if torch.float64 in (train.dtype, test.dtype) else torch.float32
    heads = Heads(train.shape[1], len(classes), rates, seed=seed, decay=weight_decay, dtype=dtype, device=train.device)
    images, chooser = ProbeFeatures.of(train, numbers, kept, dtype), ProbeFeatures.of(train, numbers, held, dtype)
    with torch.autocast(device_type=train.device.type, enabled=False):
        curve = _train(heads, images, chooser, steps, batch, seed, progress)
        loss = read(heads.loss(chooser))
        best = _best(curve.accuracy[-1], loss, np.asarray(rates))
        score = math.nan if best is None else float(read(heads.accuracy(_asked(test, asked, classes, dtype)))[best])
    return LinearProbeResult(
        rates=tuple(rates),
        held_out=tuple(np.where(np.isfinite(loss), curve.accuracy[-1], np.nan).tolist()),
        rate=math.nan if best is None else rates[best],
        accuracy=score,
        curve=curve,
    )


def _asked(test: Tensor, labels: np.ndarray, classes: np.ndarray, dtype: torch.dtype) -> ProbeFeatures:
    """Return all test images with the index of their class among ``classes``, -1 where it is none of them."""
    index = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    index = np.where(classes[index] == labels, index, -1)
    return ProbeFeatures.of(test, index, np.arange(len(index)), dtype)


def held_out(classes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the training images into those that train and those that choose the rate: rows, int64, both ascending.

    Images are shuffled, sorted by class, and every tenth is held out, from the middle of the first ten on; at least one
    is.

    Args:
        classes: int64 ``[N]``, N of at least 2.
    """
    shuffled = np.random.default_rng([seed, 0]).permutation(len(classes))
    order = shuffled[classes[shuffled].argsort(kind="stable")]
    chosen = np.zeros(len(classes), bool)
    chosen[order[min(HELD_OUT // 2, len(order) - 1) :: HELD_OUT]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def batches(count: int, batch: int, steps: int, seed: int) -> Iterator[np.ndarray]:
    """Yield rows of each step's batch, int64: epoch after epoch in a new order, what does not fill a batch left out."""
    size = min(batch, count)
    each = count // size
    for step in range(steps):
        if step % each == 0:
            order = np.random.default_rng([seed, 1, step // each]).permutation(count)
        yield order[step % each * size :][:size]


def _train(
    heads: Heads,
    images: ProbeFeatures,
    chooser: ProbeFeatures,
    steps: int,
    batch: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> ProbeCurve:
    """Take all steps and return the curve, which is read once, at the end."""
    every = -(-steps // POINTS)
    drops = [round(share * steps) for share in DROPS]
    points: list[int] = []
    losses: list[Tensor] = []
    parts: list[Tensor] = []
    accuracies: list[Tensor] = []
    for step, rows in enumerate(batches(len(images.classes), batch, steps, seed)):
        chosen = send(rows, images.classes.device)
        factor = DROP ** sum(step >= drop for drop in drops)
        parts.append(heads.step(images.features[chosen], images.classes[chosen], factor))
        if (step + 1) % every == 0 or step + 1 == steps:
            points.append(step + 1)
            losses.append(torch.stack(parts).double().mean(0))
            accuracies.append(heads.accuracy(chooser))
            parts.clear()
            if progress is not None:
                progress(step + 1)
    loss, accuracy = read(torch.stack([torch.stack(losses), torch.stack(accuracies)]))
    loss = np.where(np.isfinite(loss), loss, np.nan)
    return ProbeCurve(steps=np.array(points), loss=loss, accuracy=accuracy)


def _best(accuracy: np.ndarray, loss: np.ndarray, rates: np.ndarray) -> int | None:
    """Return the index of the highest accuracy, then the lowest loss, then the lowest rate; None: all diverged."""
    finite = np.flatnonzero(np.isfinite(loss))
    return min(finite.tolist(), key=lambda index: (-accuracy[index], loss[index], rates[index]), default=None)


def _checked(
    train: Tensor, train_labels: Tensor, test: Tensor, test_labels: Tensor, rates: Sequence[float], steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Check both sides and return their labels on the host, int64."""
    check_rows(train, "training features", least=2)
    check_rows(test, "test features")
    if train.shape[1] != test.shape[1]:
        raise UserError(
            f"Training and test features need the same dimension; got {train.shape[1]} and {test.shape[1]}."
        )
    if not rates or not all(rate > 0 for rate in rates) or steps < 1:
        raise UserError(f"A linear probe needs rates above 0 and at least 1 step; got {list(rates)} and {steps}.")
    known = check_labels(train, train_labels, "training features")
    return known, check_labels(test, test_labels, "test features")
