"""P classes of m images each, every class once per epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.samplers.base import ClassRows, SamplerDescriptor, block, check_sizes, shuffled, turns


@dataclass(frozen=True, kw_only=True)
class MPerClass:
    """Walks through all classes in a new order each epoch; the last batch is filled up from the epoch's first classes.

    A class shows all its images in turn over the epochs. With fewer than ``images_per_class`` it repeats some inside
    the batch. Classes with a single image are never drawn.
    """

    rows: ClassRows
    classes_per_batch: int
    images_per_class: int
    seed: int

    @property
    def batches_per_epoch(self) -> int:
        """Batches in which every class occurs at least once."""
        return turns(len(self.rows), self.classes_per_batch)

    def batch(self, step: int) -> Tensor:
        """Return rows int64 [P * m] of one step."""
        epoch, turn = divmod(step, self.batches_per_epoch)
        order = self.rows.classes[shuffled(len(self.rows), self.seed, epoch, 0)]
        chosen = block(order, self.classes_per_batch, turn)
        drawn = [self.rows.visit(int(label), self.images_per_class, epoch) for label in chosen]
        return torch.from_numpy(np.concatenate(drawn))


def build(labels: Tensor, classes_per_batch: int, images_per_class: int, seed: int) -> MPerClass:
    """Make the sampler for labels int64 [N, L].

    Raises:
        ParameterError: more classes per batch than there are, or no class has two images.
    """
    rows = ClassRows(labels.reshape(len(labels), -1)[:, 0], seed)
    check_sizes(len(rows), classes_per_batch, images_per_class)
    return MPerClass(rows=rows, classes_per_batch=classes_per_batch, images_per_class=images_per_class, seed=seed)


DESCRIPTOR = SamplerDescriptor(
    name="m_per_class",
    title="Classes at random",
    sentence="Each batch holds the same number of images of each of its classes; an epoch visits every class.",
    build=build,
    order=10,
)
