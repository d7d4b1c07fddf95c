"""A method of contrastive training: what it compares, and its descriptor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn

from trainers.distributed.group import of_share
from trainers.errors import UserError
from trainers.kinds.contrastive.networks import Projected
from trainers.parameters import parameter
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class MethodParameters:
    """The parameters that every method has."""

    batch: int | None = parameter(
        None,
        low=2,
        high=8192,
        log=True,
        help="Images of an optimizer step; empty: all of the run's batch. With fewer, the batch is taken in parts, one "
        "optimizer step each, at a learning rate in proportion to the part.",
    )

    def images(self, batch: int) -> int:
        """Count the images of an optimizer step where the run's batch has so many."""
        return min(self.batch or batch, batch)


@dataclass(frozen=True, kw_only=True)
class Views:
    """The part of a batch that a method gets.

    Attributes:
        images: float ``[n, C, H, W]`` in 0..1, one tensor per view; as many as the method asks for. With W processes
            they are N / W, those n with n mod W = rank.
        labels: int64 ``[N]``, classes from 0, on the CPU; None: the images have none.
        rows: int64 ``[N]``, rows of the training set, on the CPU.
    """

    images: tuple[Tensor, ...]
    labels: Tensor | None
    rows: Tensor

    def need_two(self, title: str) -> None:
        """Refuse a single image, for the method of that title, which compares within the batch.

        Raises:
            UserError: there is one image.
        """
        if len(self.rows) < 2:
            raise UserError(f"{title} compares within the batch; it needs two images or more, got 1.")

    def parts(self, size: int | None) -> list[Views]:
        """Cut the batch into parts of ``size`` images, the rest in a last one; all of it in one where ``size`` is None.

        A rest of one image joins the part before it: a loss within the batch has nothing to compare it with.
        """
        count = len(self.rows)
        starts = list(range(0, count, size or count))
        if len(starts) > 1 and count - starts[-1] == 1:
            starts.pop()
        return [self._part(slice(*pair)) for pair in itertools.pairwise([*starts, count])]

    def _part(self, part: slice) -> Views:
        local = of_share(part)
        return Views(
            images=tuple(view[local] for view in self.images),
            labels=None if self.labels is None else self.labels[part],
            rows=self.rows[part],
        )


@dataclass(frozen=True, kw_only=True)
class MethodOutcome:
    """The outcome of a method on a batch.

    Attributes:
        terms: parts of the loss by name, scalars with gradient; empty for a method that trains a classifier alone.
        numbers: further scalars by the keys of measures, detached.
    """

    terms: Mapping[str, Tensor]
    numbers: Mapping[str, Tensor] = field(default_factory=dict)


class Dictionary(Protocol):
    """Keys of earlier batches."""

    @property
    def filled(self) -> float:
        """Share of the keys that are of images, not random, 0 to 1."""

    def sample(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Sample at most ``count`` keys of images, evenly over their ages: unit keys ``[n, D]``, training rows int64
        ``[n]`` and ages in batches int64 ``[n]``, youngest first.
        """

    def encode_keys(self, images: Tensor) -> Tensor:
        """Encode images as raw keys ``[N, D]``, as they would enter now."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts that a method is built from.

    Attributes:
        net: encoder and projection head.
        dim: numbers that the head puts out.
        images: training images.
        classes: classes of the training images; 0: they have none.
    """

    net: Projected
    dim: int
    images: int
    classes: int


class Method(nn.Module):
    """A system in training: an encoder, and whatever its loss needs beside it, all of it in a checkpoint.

    Attributes:
        settings: checked parameters, a :class:`MethodParameters`.
        net: encoder and projection head, both trained.
        views: how many augmented views of each image it takes.
        classifier: how the linear classifier is trained with it: ``after`` (in the second stage alone), ``beside``
            (at the same time, without gradient into the encoder) or ``through`` (its gradient trains the encoder).
    """

    views = 2
    classifier = "after"

    def __init__(self, settings: Any, parts: Parts) -> None:
        super().__init__()
        self.settings = settings
        self.net = parts.net

    @property
    def encoder(self) -> nn.Module:
        """From images to features, without the head: what remains after training."""
        return self.net.backbone

    def forward(self, views: Views) -> MethodOutcome:
        """Encode and compare a batch; the first views are what the encoder is called with first."""
        raise NotImplementedError

    @property
    def dictionary(self) -> Dictionary | None:
        """What earlier batches left to compare with; None for a method that compares within the batch."""
        return None

    def criterion(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of the linear classifier, a scalar."""
        return nn.functional.cross_entropy(logits, labels)


@dataclass(frozen=True, kw_only=True)
class Needs:
    """A method's needs of memory.

    Attributes:
        views: of an image, encoded in each step.
        trained: encoders with a head that have a gradient.
        following: further ones that follow a trained one, without a gradient.
        compared: keys of earlier batches that a query is compared with.
        stored: keys of earlier batches that it keeps.
    """

    views: int = 2
    trained: int = 1
    following: int = 0
    compared: int = 0
    stored: int = 0


@dataclass(frozen=True, kw_only=True)
class MethodDescriptor(Descriptor):
    """One entry of the registry of methods.

    Attributes:
        family: heading in lists.
        paper, url: where it comes from.
        module: called as ``module(parameters, parts)``.
        labels: it needs the classes of the training images.
        mlp: the projection head has two layers, see :func:`trainers.kinds.contrastive.networks.projector`.
        together: it encodes the views of an image in one batch, where statistics of groups would tell which belong
            together; so batch normalisation stays over the whole batch (SimCLR, section 2.2: global BN).
        candidates: called with checked parameters and the images of a batch: how many keys a query is compared with,
            its own among them; None: the method compares nothing.
        needs: called with checked parameters and the number of training images.
    """

    family: str
    paper: str
    url: str
    module: Callable[[Any, Parts], Method]
    labels: bool = False
    mlp: bool = True
    together: bool = False
    candidates: Callable[[Any, int], int] | None = None
    needs: Callable[[Any, int], Needs] = lambda _settings, _images: Needs()
    parameters: type[MethodParameters] = MethodParameters
