"""Momentum contrast (He et al. 2020): a query encoder, a key encoder that follows it slowly, and a queue of keys."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import send
from trainers.distributed.gather import joined
from trainers.distributed.group import rank, world
from trainers.errors import UserError
from trainers.kinds.contrastive.networks import encode, encode_whole

NONE = -1
"""In :attr:`KeyQueue.rows`, ``labels`` and ``written``: of a random column, which no image has written."""


class KeyQueue(nn.Module):
    """Unit keys in the columns of one matrix, and what is known of each; all of it is part of a checkpoint.

    Args:
        dim: D, numbers in a key.
        size: K, number of keys; the batch need not divide it.

    Attributes:
        keys: floating ``[D, K]``; random unit columns until they are replaced.
        pointer: int64 scalar, the column that is written next.
        rows: int64 ``[K]``, training rows of the images behind the keys.
        labels: int64 ``[K]``, their classes.
        written: int64 ``[K]``, number of the batch that each key came with, from 0.
        batches: int64 scalar, how many batches have entered.
    """

    keys: Tensor
    pointer: Tensor
    rows: Tensor
    labels: Tensor
    written: Tensor
    batches: Tensor

    def __init__(self, dim: int, size: int) -> None:
        super().__init__()
        if dim < 1 or size < 1:
            raise UserError(f"A queue needs at least one key of at least one number; got {size} keys of {dim} numbers.")
        self.register_buffer("keys", functional.normalize(torch.randn(dim, size), dim=0))
        for name in ("rows", "labels", "written"):
            self.register_buffer(name, torch.full((size,), NONE, dtype=torch.int64))
        for name in ("pointer", "batches"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))
        self._column = self._entered = 0  # pointer and batches on the host, which then need not wait for the device
        self._columns, self._change = torch.empty(0), torch.empty(0)

    @property
    def size(self) -> int:
        """K."""
        return self.keys.shape[1]

    @property
    def filled(self) -> float:
        """Share of the columns that hold the key of an image, 0 to 1."""
        return float((self.written != NONE).float().mean())

    @property
    def ages(self) -> Tensor:
        """int64 ``[K]``: batches that have entered after each key's own; -1 for a random column."""
        return torch.where(self.written == NONE, NONE, self.batches - 1 - self.written)

    def sample(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Sample at most ``count`` keys of known images, evenly over their ages, youngest first.

        Returns:
            unit keys ``[n, D]``, training rows int64 ``[n]``, ages int64 ``[n]``.
        """
        ages = self.ages
        known = torch.nonzero(self.rows != NONE)[:, 0]
        known = known[ages[known].argsort(stable=True)]
        picked = known[spread(len(known), count).to(known.device)]
        return self.keys[:, picked].T, self.rows[picked], ages[picked]

    def beside(self, positives: Tensor, queries: Tensor) -> Tensor:
        """Put each query's own numbers beside its inner products with every key as it is now; keys get no gradient.

        No key is copied: if a batch has entered by the time of the backward pass, the gradient is corrected for the
        columns that it replaced.

        Args:
            positives: ``[P, N]``.
            queries: ``[N, D]``.

        Returns:
            ``[P * N, 1 + K]``, the own number first; the products stand in it P times.

        Raises:
            RuntimeError: in the backward pass, if more than one batch has entered.
        """
        return _Beside.apply(positives, queries, self)

    @torch.no_grad()
    def dequeue_and_enqueue(self, keys: Tensor, rows: Tensor | None = None, labels: Tensor | None = None) -> None:
        """Replace the oldest keys by a batch; of a batch larger than the queue the last keys stay.

        Args:
            keys: ``[N, D]``, unit rows.
            rows, labels: int64 ``[N]``, of their images where known.
        """
        stays = min(len(keys), self.size)
        first = self._column + len(keys) - stays
        columns = torch.arange(first, first + stays, device=self.keys.device) % self.size
        new = keys[len(keys) - stays :].T.to(self.keys.dtype)
        self._columns, self._change = columns, new - self.keys[:, columns]
        self.keys[:, columns] = new
        self.written[columns] = self._entered
        for known, values in ((self.rows, rows), (self.labels, labels)):
            known[columns] = NONE if values is None else send(values[len(keys) - stays :], known.device)
        self._column, self._entered = (self._column + len(keys)) % self.size, self._entered + 1
        self.pointer.fill_(self._column)
        self.batches.fill_(self._entered)

    def gradient(self, slopes: Tensor, entered: int) -> Tensor:
        """Multiply ``slopes [N, K]`` by the keys as they were when ``entered`` batches had entered, ``[N, D]``."""
        if self._entered - entered not in (0, 1):
            raise RuntimeError("at most one batch may enter a queue between the similarities and their gradient")
        whole = slopes @ self.keys.T.to(slopes.dtype)
        if self._entered == entered:
            return whole
        return whole - slopes[:, self._columns] @ self._change.T.to(slopes.dtype)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._column, self._entered = int(self.pointer), int(self.batches)


def spread(available: int, count: int) -> Tensor:
    """Choose at most ``count`` of so many indices, evenly spaced, int64, ascending."""
    return torch.linspace(0, max(available - 1, 0), min(available, count)).round().long()


class _Beside(torch.autograd.Function):
    """:meth:`KeyQueue.beside`; the products are written where they are needed, as each of their copies costs a pass."""

    @staticmethod
    def forward(ctx: Any, positives: Tensor, queries: Tensor, queue: KeyQueue) -> Tensor:
        ctx.queue, ctx.entered, ctx.positives = queue, queue._entered, len(positives)
        logits = queries.new_empty(positives.numel(), 1 + queue.size)
        parts = logits.view(*positives.shape, -1)
        parts[..., 0] = positives
        torch.mm(queries, queue.keys.to(queries.dtype), out=parts[0, :, 1:])
        parts[1:, :, 1:] = parts[0, :, 1:]
        return logits

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:
        parts = slopes[0].unflatten(0, (ctx.positives, -1))
        others = parts[0] if len(parts) == 1 else parts.sum(0)
        return parts[..., 0], ctx.queue.gradient(others[:, 1:], ctx.entered), None


Encode = Callable[[Tensor], Tensor]


def shuffled(encode: Encode, images: Tensor) -> Tensor:
    """Call ``encode(images)`` with the images in another order, and return the result in theirs.

    Batch statistics over groups of images (:class:`trainers.encoders.norms.SplitBatchNorm`) then come from
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
        shuffle: encode the keys in another order, see :func:`shuffled`.

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
