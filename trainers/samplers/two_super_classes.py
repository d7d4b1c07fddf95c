"""Half of each batch from one super-class, half from another, so that siblings meet (as HAPPIER trains on SOP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.errors import ParameterError
from trainers.samplers.base import ClassRows, SamplerDescriptor, block, check_sizes, shuffled, turns

Slot = tuple[int, int]
"""A super-class and which part of its classes is due."""


@dataclass(frozen=True, kw_only=True)
class TwoSuperClasses:
    """Pairs of super-classes in a new order each epoch.

    A super-class comes up as often as it takes to show all its classes, each time beside another one. Where it has
    fewer classes than half a batch, further super-classes fill the batch, siblings kept together.
    """

    rows: ClassRows
    groups: tuple[np.ndarray, ...]
    classes_per_batch: int
    images_per_class: int
    seed: int

    @property
    def half(self) -> int:
        """Classes taken from one super-class."""
        return self.classes_per_batch // 2

    @property
    def batches_per_epoch(self) -> int:
        """Batches in which every class occurs at least once."""
        slots = [turns(len(group), self.half) for group in self.groups]
        return max(max(slots), turns(sum(slots), 2))

    def batch(self, step: int) -> Tensor:
        """Return rows int64 [P * m] of one step."""
        epoch, turn = divmod(step, self.batches_per_epoch)
        pair = self._pairs(epoch)[shuffled(self.batches_per_epoch, self.seed, epoch, 2)[turn]]
        chosen = self._classes(pair, epoch, turn)
        drawn = [self.rows.visit(label, self.images_per_class, epoch) for label in chosen]
        return torch.from_numpy(np.concatenate(drawn))

    def _pairs(self, epoch: int) -> list[tuple[Slot, Slot]]:
        """Return pairs of (super-class, turn), the two super-classes of a pair always different, all turns covered."""
        order = shuffled(len(self.groups), self.seed, epoch, 3).tolist()
        order.sort(key=lambda group: -turns(len(self.groups[group]), self.half))
        slots = [(group, turn) for group in order for turn in range(turns(len(self.groups[group]), self.half))]
        count = self.batches_per_epoch
        # The slots of a super-class lie side by side, so two that lie half the list apart are of different ones.
        # Where one super-class has half of all slots or more, it meets the others again from their start.
        first, others = slots[:count], slots[count:]
        again = others if first[0][0] == first[-1][0] else slots[:1]
        others = others + [again[index % len(again)] for index in range(count - len(others))]
        return list(zip(first, others, strict=True))

    def _classes(self, pair: tuple[Slot, Slot], epoch: int, turn: int) -> list[int]:
        """Return P distinct classes: half of each of the two, then whatever fills the batch, siblings together."""
        size = self.classes_per_batch
        halves = (size - self.half, self.half)
        chosen: dict[int, None] = {}
        for (group, part), count in zip(pair, halves, strict=True):
            order = self.groups[group][shuffled(len(self.groups[group]), self.seed, epoch, group, 4)]
            chosen.update(dict.fromkeys(block(order, min(count, len(order)), part).tolist()))
        fillers = shuffled(len(self.groups), self.seed, epoch, turn, 5)
        for group in (*(group for group, _ in pair), *fillers.tolist()):
            if len(chosen) >= size:
                break
            order = self.groups[group][shuffled(len(self.groups[group]), self.seed, epoch, turn, group, 6)]
            chosen.update(dict.fromkeys(order.tolist()))
        return list(chosen)[:size]


def build(labels: Tensor, classes_per_batch: int, images_per_class: int, seed: int) -> TwoSuperClasses:
    """Make the sampler for labels int64 [N, L]; super-classes are those of the coarsest level that has two or more.

    Raises:
        ParameterError: no such level, more classes per batch than there are, or no class has two images.
    """
    table = labels.reshape(len(labels), -1)
    rows = ClassRows(table[:, 0], seed)
    check_sizes(len(rows), classes_per_batch, images_per_class)
    if classes_per_batch < 2:
        raise ParameterError("Two super-classes need at least 2 classes per batch; got 1.")
    tree = np.unique(table.numpy(), axis=0)
    tree = tree[np.isin(tree[:, 0], rows.classes)]
    for level in range(tree.shape[1] - 1, 0, -1):
        names = np.unique(tree[:, level])
        if len(names) >= 2:
            groups = tuple(tree[tree[:, level] == name, 0] for name in names)
            return TwoSuperClasses(
                rows=rows,
                groups=groups,
                classes_per_batch=classes_per_batch,
                images_per_class=images_per_class,
                seed=seed,
            )
    raise ParameterError(
        "Two super-classes per batch need labels with a coarser level of at least two classes; these images have none. "
        "Choose the sampler m_per_class."
    )


DESCRIPTOR = SamplerDescriptor(
    name="two_super_classes",
    title="Two super-classes",
    sentence="Each batch takes half its classes from each of two super-classes, so that close and far mistakes occur.",
    build=build,
    hierarchy=True,
    order=20,
)
