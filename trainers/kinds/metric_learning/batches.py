"""Batches as a pure function of the step: the same for every arm, and the same again after a resume."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.data.base import ImageSet
from trainers.devices.host import send
from trainers.distributed.group import share
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.samplers import Sampler
from trainers.training.augmentations import AUGMENTATIONS


@dataclass(frozen=True, kw_only=True)
class ImageBatch:
    """One step's input.

    Attributes:
        views: one float tensor ``[b, C, H, W]`` in 0..1 per view (features ``[b, F]`` when the encoder is frozen), of
            the B / W images of this process, see :func:`trainers.distributed.group.share`.
        labels: int64 ``[B, L]``, finest first, on the CPU, where losses plan from them.
        rows: int64 ``[B]``, rows of the training set, on the CPU.
        step: which batch of the run it is, from 0.
    """

    views: tuple[Tensor, ...]
    labels: Tensor
    rows: Tensor
    step: int


class ImageBatches:
    """Draws batch ``step`` from resident images or frozen features.

    Args:
        data: training images, uint8 ``[N, C, H, W]``, resident or memory-mapped.
        features: float ``[N, F]`` in place of the images, for a frozen encoder; they are not augmented.
        sampler: rows for a step.
        augmentation: how they are changed.
        views: how many augmented views of each image.
        seed: of the augmentation.
        device: where the batch is made; images move there whole if they fit.
    """

    def __init__(
        self,
        data: ImageSet,
        sampler: Sampler,
        *,
        features: Tensor | None,
        augmentation: Choice = MetricLearningConfig.augmentation,
        views: int,
        seed: int,
        device: torch.device,
    ) -> None:
        self._labels = data.labels
        self._sampler = sampler
        self._views = views
        self._seed = seed
        self._device = device
        self._augmented = features is None
        entry = AUGMENTATIONS[augmentation.name]
        self._augment = entry.build(augmentation.parameters, channels=data.images.shape[1])
        source = data.images if features is None else features
        self._source = source.to(device) if _fits(source, device) else source

    def batch(self, step: int) -> ImageBatch:
        """Make the batch of one step."""
        rows = self._sampler.batch(step)
        local, count = share(len(rows)), len(rows)
        picked = self._pick(rows[local])
        if self._augmented:
            views = tuple(
                self._augment(picked, seed=self._seed, step=step, view=view, count=count, rows=local)
                for view in range(self._views)
            )
        else:
            views = (picked.float(),) * self._views
        return ImageBatch(views=views, labels=self._labels[rows], rows=rows, step=step)

    def _pick(self, rows: Tensor) -> Tensor:
        """Copy the images or features of ``rows`` to the device; the host does not wait for them."""
        if self._source.device.type == "cpu":
            return send(self._source[rows], self._device)
        return self._source[send(rows, self._device)]


def _fits(source: Tensor, device: torch.device) -> bool:
    """Return whether all images fit on the device: they may take at most half of the GPU's free memory."""
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return source.numel() * source.element_size() < free // 2
