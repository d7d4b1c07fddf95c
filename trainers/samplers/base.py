"""The interface of samplers, rows of batch number ``step``, and seeded passes over classes and images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from torch import Tensor

from trainers.errors import ParameterError
from trainers.registry import Descriptor


class Sampler(Protocol):
    """Draws batches. It keeps no position, so a run that resumes at a step sees what it would have seen."""

    @property
    def batches_per_epoch(self) -> int:
        """Number of batches in which every class occurs at least once."""
        ...

    def batch(self, step: int) -> Tensor:
        """Return int64 ``[classes_per_batch * images_per_class]`` rows, the images of a class side by side."""
        ...


@dataclass(frozen=True, kw_only=True)
class SamplerDescriptor(Descriptor):
    """One entry of the registry of samplers.

    Attributes:
        hierarchy: it needs labels of two levels at least.
        build: ``build(labels, classes_per_batch, images_per_class, seed)``, labels int64 ``[N, L]``, finest first.
    """

    build: Callable[[Tensor, int, int, int], Sampler]
    hierarchy: bool = False


def permutation(count: int, *key: int) -> np.ndarray:
    """Return a permutation of 0 .. count - 1 that depends on the key alone."""
    return np.random.default_rng([number % 2**32 for number in key]).permutation(count)


shuffled = lru_cache(maxsize=64)(permutation)
"""The same, remembered for a while: the order of an epoch serves all its batches. Not to be written to."""


def turns(count: int, size: int) -> int:
    """Return the number of visits of ``size`` items after which all ``count`` have been seen."""
    return -(-count // size)


def block(order: np.ndarray, size: int, turn: int) -> np.ndarray:
    """Return the items seen at visit ``turn``: ``size`` of them in order, starting over at the end.

    They are distinct if there are ``size`` items; otherwise they are repeated as evenly as possible.
    """
    return order[np.arange(turn * size, (turn + 1) * size) % len(order)]


class ClassRows:
    """The rows of each class that has at least two, and the images a class shows at its visits.

    Args:
        classes: int64 [N], finest labels.
        seed: of the order inside the classes.

    Raises:
        ParameterError: no class has two images.
    """

    def __init__(self, classes: Tensor, seed: int) -> None:
        labels = classes.numpy()
        order = np.argsort(labels, kind="stable")
        names, first, counts = np.unique(labels[order], return_index=True, return_counts=True)
        self._rows = {
            int(name): order[begin : begin + count]
            for name, begin, count in zip(names, first, counts, strict=True)
            if count > 1
        }
        if not self._rows:
            raise ParameterError("A batch needs classes with at least two images; no class has two.")
        self.classes = np.array(list(self._rows), dtype=np.int64)
        self._seed = seed
        # The latest order of each class, only to save time: visits in a row mostly share it.
        self._recent: dict[int, tuple[int, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self.classes)

    def visit(self, label: int, size: int, number: int) -> np.ndarray:
        """Return rows int64 [size] that the class shows at a visit: all of its images in turn, then in a new order.

        A class with fewer than ``size`` images shows some of them several times.
        """
        rows = self._rows[label]
        tour, turn = divmod(number, turns(len(rows), size))
        if self._recent.get(label, (-1,))[0] != tour:
            self._recent[label] = (tour, permutation(len(rows), self._seed, label, tour, 1))
        return rows[block(self._recent[label][1], size, turn)]


def check_sizes(classes: int, classes_per_batch: int, images_per_class: int) -> None:
    """Raise if a batch cannot be filled.

    Raises:
        ParameterError: with the number that would do.
    """
    if classes_per_batch < 1 or images_per_class < 1 or classes_per_batch * images_per_class < 2:
        raise ParameterError(
            "A batch needs at least two images; "
            f"{classes_per_batch} classes of {images_per_class} images were asked for. Raise one of the two."
        )
    if classes_per_batch > classes:
        raise ParameterError(
            f"{classes_per_batch} classes per batch were asked for; the training images have {classes} classes with "
            f"two images or more. Choose at most {classes}."
        )
