"""MoCo v1 and v2 (He et al. 2020): a query encoder, a key encoder that follows it slowly, and a queue of keys."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import send
from trainers.distributed.group import rank, world
from trainers.distributed.whole import joined
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
from trainers.kinds.contrastive.networks import encode, encode_whole
from trainers.kinds.contrastive.queue import KeyQueue
from trainers.losses.infonce import temperature
from trainers.parameters import default_of, parameter

Encode = Callable[[Tensor], Tensor]


def shuffled(encode: Encode, images: Tensor) -> Tensor:
    """Call ``encode(images)`` with the images in another order, and return the result in theirs.

    Batch statistics over groups of images (:class:`trainers.kinds.contrastive.norms.SplitBatchNorm`) then come from
    other groups than the queries', so that a query cannot recognise its key by them. Across processes, all of which
    must call this with equally many images, groups are mixed over all of them.

    Args:
        encode: from the ``[n, ...]`` of this process to the ``[N, D]`` of all, in the order of one.
        images: ``[n, ...]`` of this process. The order is drawn from torch's global generator, which must stand alike
            in all processes.
    """
    processes = world()
    order = send(torch.randperm(processes * len(images)), images.device)
    every = joined(images, len(order))
    return encode(every[order[rank() :: processes]])[order.argsort()]


def first_cross_entropy(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the mean cross-entropy with class 0, and how often that class has the largest logit.

    Torch's own makes three further tensors of the size of the logits. With a long queue, taking memory for them from
    the system lasts as long as the products behind the logits.

    Args:
        logits: ``[N, 1 + K]``, K at least 1; overwritten.

    Returns:
        the loss, a scalar, which can be differentiated once; and the share of rows whose first logit is larger than
        all others, ties left out, a scalar without gradient.
    """
    loss, accuracy, _ = _FirstCrossEntropy.apply(logits)
    return loss, accuracy


class _FirstCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        positive, best = logits[:, 0].clone(), logits[:, 1:].amax(1)
        top = torch.maximum(positive, best)
        odds = logits.sub_(top[:, None]).exp_()
        ctx.total, ctx.odds = odds.sum(1), odds
        loss = (ctx.total.log() + top - positive).mean()
        accuracy = (positive > best).to(logits.dtype).mean()
        ctx.mark_dirty(logits)
        ctx.mark_non_differentiable(accuracy)
        ctx.set_materialize_grads(False)
        return loss, accuracy, logits

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Tensor | None:
        if slopes[2] is not None or ctx.odds is None:
            raise RuntimeError("the logits were overwritten; their loss can be differentiated once")
        odds, ctx.odds = ctx.odds, None
        slope = slopes[0] / len(odds)
        odds.mul_((slope / ctx.total)[:, None])
        odds[:, 0] -= slope
        return odds


SHARING = ("separate", "partly", "shared")


class MoCo(nn.Module):
    """Logits of queries against their own keys and a queue (algorithm 1).

    A step, in this order: the queries; the key encoder's parameters become ``momentum`` of themselves and the rest of
    the query encoder's, buffers such as running statistics excepted; the keys, without gradient; the logits with the
    queue as it is; then the keys enter the queue.

    Args:
        encoder: from images to raw ``[N, dim]``; the key encoder starts as its copy.
        dim: D, numbers in a key.
        queue_size: K.
        momentum: 0 to 1; 0: the key encoder is the query encoder of this step.
        temperature: divides the logits.
        sharing: which parameters of the key encoder are the query encoder's own: none (``separate``), those of its
            first child (``partly``; it must have children), or all (``shared``). Shared ones have no momentum.
        shuffle: encode the keys in another order, see :func:`trainers.kinds.contrastive.methods.moco.shuffled`.

    Attributes:
        encoder, key_encoder: modules.
        dictionary: the queue.
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        dim: int = 128,
        queue_size: int = 65_536,
        momentum: float = 0.999,
        temperature: float = 0.07,
        sharing: str = "separate",
        shuffle: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.key_encoder = _key_encoder(encoder, sharing)
        self.dictionary = KeyQueue(dim, queue_size)
        self.momentum, self.temperature, self.shuffle = momentum, temperature, shuffle
        query_weights = {id(weight) for weight in encoder.parameters()}
        self._followed = [
            (key, query)
            for key, query in zip(self.key_encoder.parameters(), encoder.parameters(), strict=True)
            if id(key) not in query_weights
        ]

    @property
    def queue(self) -> Tensor:
        """The keys ``[D, K]``."""
        return self.dictionary.keys

    @property
    def pointer(self) -> Tensor:
        """int64 scalar, the column of the queue that is written next."""
        return self.dictionary.pointer

    def forward(
        self,
        query_images: Tensor,
        key_images: Tensor | Sequence[Tensor],
        rows: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> Tensor:
        """Take the step of the class's description.

        Args:
            query_images: ``[N, C, H, W]``, or whatever the encoder takes.
            key_images: the same for the keys; a sequence of P of them gives every query P positives.
            rows, labels: int64 ``[N]``, kept in the queue beside the keys.

        Returns:
            ``[N, 1 + K]`` over the temperature, the own key first, so the target is 0. With P positives
            ``[P * N, 1 + K]``: the N queries with their first keys, then with their second, and so on.
        """
        queries = functional.normalize(encode_whole(self.encoder, query_images), dim=1)
        views = [key_images] if isinstance(key_images, Tensor) else list(key_images)
        if not views:
            raise UserError("MoCo needs the images of at least one key for each query; got none.")
        with torch.no_grad():
            self.follow()
            keys = [functional.normalize(self.encode_keys(images), dim=1) for images in views]
        scaled = queries / self.temperature
        logits = self.dictionary.beside(torch.stack([(scaled * key).sum(1) for key in keys]), scaled)
        repeated = [None if known is None else known.repeat(len(views)) for known in (rows, labels)]
        self.dictionary.dequeue_and_enqueue(torch.cat(keys), *repeated)
        return logits

    @property
    def filled(self) -> float:
        """Share of the queue that holds keys of images."""
        return self.dictionary.filled

    def sample(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """See :meth:`trainers.kinds.contrastive.queue.KeyQueue.sample`."""
        return self.dictionary.sample(count)

    @torch.no_grad()
    def follow(self) -> None:
        """Move the key encoder's parameters towards the query encoder's (equation 2)."""
        if self._followed:
            keys, queries = zip(*self._followed, strict=True)
            torch._foreach_lerp_(keys, queries, 1 - self.momentum)

    @torch.no_grad()
    def encode_keys(self, images: Tensor) -> Tensor:
        """Encode images as raw keys ``[N, dim]``; in training mode their batch statistics are their own, and several
        processes each have a share of them.
        """
        if not self.training:  # of the same images in every process
            return encode(self.key_encoder, images)
        keys = partial(encode_whole, self.key_encoder)
        return shuffled(keys, images) if self.shuffle else keys(images)


def _key_encoder(encoder: nn.Module, sharing: str) -> nn.Module:
    if sharing not in SHARING:
        raise UserError(f"The sharing of the encoders is one of {', '.join(SHARING)}; got {sharing!r:.40}.")
    if sharing == "shared":
        return encoder
    kept = list(encoder.children())[:1] if sharing == "partly" else []
    memo = {id(child): child for child in kept}
    copied = copy.deepcopy(encoder, memo)
    shared = {id(weight) for part in kept for weight in part.parameters()}
    for weight in copied.parameters():
        if id(weight) not in shared:
            weight.requires_grad_(False)
    return copied


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
    """See :class:`trainers.kinds.contrastive.methods.moco.MoCo`; labels are not looked at."""

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
