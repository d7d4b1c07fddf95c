"""Half of each batch from one super-class, half from another, so that siblings meet (as HAPPIER trains on SOP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.errors import ParameterError
from trainers.samplers.base import SamplerDescriptor
from trainers.samplers.walk import ClassRows, block, check_sizes, shuffled, turns


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
        return max(1, self.classes_per_batch // 2)

    @property
    def batches_per_epoch(self) -> int:
        """Batches in which every class occurs at least once."""
        slots = [turns(len(group), self.half) for group in self.groups]
        return max(max(slots), turns(sum(slots), 2))

    def batch(self, step: int) -> Tensor:
        """Rows int64 [P * m] of one step."""
        epoch, turn = divmod(step, self.batches_per_epoch)
        pair = self._pairs(epoch)[shuffled(self.batches_per_epoch, self.seed, epoch, 2)[turn]]
        chosen = self._classes(pair, epoch, turn)
        drawn = [self.rows.visit(label, self.images_per_class, epoch) for label in chosen]
        return torch.from_numpy(np.concatenate(drawn))

    def _pairs(self, epoch: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Pairs of (super-class, turn), the two super-classes of a pair always different, all turns covered."""
        order = shuffled(len(self.groups), self.seed, epoch, 3)
        by_size = sorted(order.tolist(), key=lambda group: -turns(len(self.groups[group]), self.half))
        slots = [(group, turn) for group in by_size for turn in range(turns(len(self.groups[group]), self.half))]
        # Slots of one super-class are neighbours, so slots that lie half a list apart belong to different ones;
        # a super-class with more than half of all slots meets the others again from the start.
        middle = self.batches_per_epoch
        others = slots[middle:] if middle > 0 else []
        if len(others) < middle:
            first = slots[0][0]
            spare = others + [slot for slot in slots if slot[0] != first and slot not in others]
            others = [spare[index % len(spare)] for index in range(middle)]
        pairs = list(zip(slots[:middle], others, strict=True))
        return [self._apart(pair, slots) for pair in pairs]

    def _apart(
        self, pair: tuple[tuple[int, int], tuple[int, int]], slots: list[tuple[int, int]]
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """The pair, its second slot replaced if both are of one super-class (only the repeated slot of an odd list)."""
        if pair[0][0] != pair[1][0]:
            return pair
        return pair[0], next(slot for slot in slots if slot[0] != pair[0][0])

    def _classes(self, pair: tuple[tuple[int, int], tuple[int, int]], epoch: int, turn: int) -> list[int]:
        size = self.classes_per_batch
        halves = (size - self.half, self.half) if size > 1 else (1, 0)
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
        raise ParameterError("Two super-classes need at least 2 classes per batch; 1 came.")
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
