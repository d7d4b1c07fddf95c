"""Batches of contrastive training as a pure function of the step, and the views that a run's encoder sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.data import peek_data
from trainers.devices.host import send
from trainers.distributed.group import share
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.training.augmentations import AUGMENTATIONS, Augment


def views_of(config: ContrastiveConfig, channels: int) -> Augment:
    """Return the function that makes a run's views of images of ``channels`` channels; view 0 is the query.

    Raises:
        ParameterError: a parameter is wrong.
    """
    return _augment(config.augmentation, channels)


def head_views_of(config: ContrastiveConfig, channels: int) -> Augment:
    """Return the function that makes the images for the classifier of the second stage.

    Raises:
        ParameterError: a parameter is wrong.
    """
    return _augment(config.head_augmentation, channels)


def _augment(choice: Choice, channels: int) -> Augment:
    return AUGMENTATIONS[choice.name].build(dict(choice.parameters), channels)


def preview(config: ContrastiveConfig, count: int, step: int = 0) -> Tensor:
    """Make two views of a few images, as the run would see them in a step.

    Returns:
        float32 ``[n, 2, C, S, S]`` in 0..1, n at most ``count``.

    Raises:
        UserError: the images cannot be read, or a parameter is wrong.
    """
    images = peek_data(config.data, count)
    view = views_of(config, images.shape[1])
    return torch.stack([view(images, seed=config.seed, step=step, view=number) for number in (0, 1)], 1)


@dataclass(frozen=True, kw_only=True)
class ViewBatch:
    """One step's input.

    Attributes:
        view: makes the view of a number of the batch's images, float ``[n, C, H, W]`` in 0..1; each is made once. They
            are the N / W of this process, see :func:`trainers.distributed.group.share`.
        labels: int64 ``[N]``, classes from 0, on the CPU; None: the images have none.
        rows: int64 ``[N]``, rows of the training set, on the CPU.
        step: which batch of the run it is, from 0.
        seconds: of processor time that making the view of a number took.
    """

    view: Callable[[int], Tensor]
    labels: Tensor | None
    rows: Tensor
    step: int
    seconds: Callable[[int], float] = lambda _number: 0.0


class ViewBatches:
    """Draws batch ``step``: every image once per epoch, in another order each time; what does not fill one is left out.

    Args:
        images: uint8 ``[M, C, H, W]``, resident or memory-mapped.
        labels: int64 ``[M]``, classes from 0; None: they have none.
        size: N, images of a batch, at most M.
        view: makes a view, see :class:`trainers.training.augmentations.base.Augment`; number 0 is the query.
        seed: of order and views.
        device: where the views are made.
    """

    def __init__(
        self,
        images: Tensor,
        labels: Tensor | None,
        *,
        size: int,
        view: Callable[..., Tensor],
        seed: int,
        device: torch.device,
    ) -> None:
        self._images, self._labels, self._view = images, labels, view
        self._size, self._seed, self._device = size, seed, device
        self._order = (-1, torch.empty(0, dtype=torch.int64))

    @property
    def epoch(self) -> int:
        """Steps of an epoch."""
        return len(self._images) // self._size

    def batch(self, step: int) -> ViewBatch:
        """Make the batch of one step."""
        epoch, position = divmod(step, self.epoch)
        rows = self._ordered(epoch)[position * self._size : (position + 1) * self._size]
        local = share(len(rows))
        picked = send(self._images[rows[local]], self._device)
        made: dict[int, tuple[Tensor, float]] = {}

        def view(number: int) -> Tensor:
            if number not in made:
                started = time.process_time()
                images = self._view(picked, seed=self._seed, step=step, view=number, count=len(rows), rows=local)
                made[number] = images, time.process_time() - started
            return made[number][0]

        labels = None if self._labels is None else self._labels[rows]
        return ViewBatch(view=view, labels=labels, rows=rows, step=step, seconds=lambda number: made[number][1])

    def _ordered(self, epoch: int) -> Tensor:
        if self._order[0] != epoch:
            draws = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
            self._order = epoch, torch.randperm(len(self._images), generator=draws)
        return self._order[1]
