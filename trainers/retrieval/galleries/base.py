"""A gallery: images with labels, known before their pixels are read; and the descriptor of a kind of gallery."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from trainers.config import DataChoice
from trainers.data.base import ImageSet, LoadedData
from trainers.data.decode import with_channels
from trainers.data.lru_cache import Cache
from trainers.data.roles import Roles
from trainers.errors import DataError, UserError
from trainers.hierarchy import Hierarchy
from trainers.progress import Progress, silent
from trainers.registry import Descriptor
from trainers.retrieval.encoders import read_images
from trainers.runs import RunFolder

_KEPT = 2  # datasets that stay in memory


class Datasets:
    """Reads datasets and keeps the last ones. Threads that want the same one wait for a single reading."""

    def __init__(self) -> None:
        self._kept: Cache[LoadedData] = Cache(limit=_KEPT)

    def load(self, choice: Any, progress: Progress = silent) -> LoadedData:
        """Load the dataset of a choice, see :func:`trainers.retrieval.encoders.read_images`; refuse what may not be
        opened here.

        Raises:
            DataError: with the reason and what to do.
        """
        return self._kept.get(choice, lambda: read_images(choice, progress))


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Images that are searched.

    Attributes:
        name, title: of the kind of gallery, and in words with the dataset.
        choice: the dataset that the images come from, as :meth:`trainers.kinds.base.Kind.images` has it.
        part: of the dataset, ``train`` or ``test``.
        rows: int64 ``[N]``, row of each image in that part.
        labels: int64 ``[N, L]``, finest first, ids into ``hierarchy.names``; without label noise.
        hierarchy: the label tree.
        labelled: False: the images have no classes, and every label is 0.
        notes: sentences about how the images were read.
        roles: of the images; None: every image is searched for among all others.
        datasets: reads the pixels when they are needed.
    """

    name: str
    title: str
    choice: Any
    part: str
    rows: np.ndarray
    labels: np.ndarray
    hierarchy: Hierarchy
    labelled: bool = True
    notes: tuple[str, ...] = ()
    roles: Roles | None = None
    datasets: Datasets

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def origin(self) -> tuple[Any, str]:
        """Equal for galleries whose rows count the same images, whatever their size in pixels."""
        return origin(self.choice, self.part)

    def twins(self, row: int | None) -> list[int]:
        """Return other rows that show the same photograph as ``row``, before or after something was removed from it."""
        if row is None or not hasattr(self.choice, "twin"):
            return []
        return np.flatnonzero(self.rows == self.choice.twin(int(self.rows[row]), len(self.rows))).tolist()

    def without(self, row: int | None, removed: tuple[str, ...], fill: str) -> int | None:
        """Return the row that shows the image ``row`` with these classes removed and filled; None: there is none."""
        if row is None or not removed or not hasattr(self.choice, "without"):
            return None
        there = np.flatnonzero(self.rows == self.choice.without(int(self.rows[row]), removed, fill))
        return int(there[0]) if len(there) else None

    def images(
        self, channels: int | None = None, side: int | None = None, progress: Progress = silent
    ) -> tuple[Tensor, str]:
        """Return the images as an encoder takes them, and a digest of them; None: as the dataset has them.

        Returns:
            uint8 ``[N, C, S, S]``, and hexadecimal, equal where images and order are.

        Raises:
            DataError: the dataset cannot be read, or has other images at that size.
        """
        data = self.datasets.load(self.choice, progress)
        part = split(data, self.part)
        if side is not None and part.images.shape[-1] != side:
            data = self.datasets.load(dataclasses.replace(self.choice, image_size=side), progress)
            part = split(data, self.part)
        if len(self.rows) and int(self.rows.max()) >= len(part):
            raise DataError(f"{data.title} has other images than when the run was trained. Restore them.")
        whole = len(self.rows) == len(part) and bool((self.rows == np.arange(len(part))).all())
        images = part.images if whole else part.images[self.rows]
        mark = hashlib.blake2b(f"{data.fingerprint} {self.part}{part.chosen} {channels}".encode(), digest_size=16)
        mark.update(np.ascontiguousarray(self.rows, np.int64).data)
        return images if channels is None else with_channels(images, channels), mark.hexdigest()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files of all images of the part, by their rows in it; nothing where they have none."""
        return split(self.datasets.load(self.choice), self.part).names

    def image(self, row: int) -> Tensor:
        """Return the pixels of one image as the dataset has them, uint8 ``[C, S, S]``.

        Raises:
            DataError: the dataset cannot be read, or has other images now.
        """
        part, index = split(self.datasets.load(self.choice), self.part), int(self.rows[row])
        if index >= len(part):
            raise DataError(f"{self.title}: the dataset has other images than when the run was trained. Restore them.")
        return part.images[index]


def origin(choice: Any, part: str) -> tuple[Any, str]:
    """See :attr:`Gallery.origin`."""
    if isinstance(choice, DataChoice):
        conditions = choice.conditions.that_choose(part)
        choice = dataclasses.replace(choice, conditions=conditions, level_names=None)
    return dataclasses.replace(choice, image_size=None), part


def split(data: LoadedData, part: str) -> ImageSet:
    """Return the part ``train`` or ``test`` of a dataset."""
    chosen: ImageSet = getattr(data, part)
    return chosen


def gallery_of(
    name: str, title: str, choice: Any, part: str, datasets: Datasets, progress: Progress = silent
) -> Gallery:
    """Return all images of a part of a dataset.

    Args:
        title: with ``{}`` for the title of the dataset.

    Raises:
        UserError: of this kind of run only the images on the maps can be searched, or the dataset cannot be read.
    """
    if not isinstance(choice, DataChoice):
        raise UserError("Of this run the images on its maps can be searched. Choose the gallery probe.")
    data = datasets.load(choice, progress)
    chosen = split(data, part)
    return Gallery(
        name=name,
        title=title.format(data.title),
        choice=choice,
        part=part,
        rows=np.arange(len(chosen)),
        labels=chosen.truth.numpy(),
        hierarchy=data.hierarchy,
        labelled=data.labelled,
        notes=data.notes,
        roles=Roles.of(chosen.attributes, data.attributes) if data.labelled else None,
        datasets=datasets,
    )


@dataclass(frozen=True, kw_only=True)
class GalleryDescriptor(Descriptor):
    """One entry of the registry of galleries.

    Attributes:
        open: makes the gallery from a run, checked parameters, the datasets and a progress function; it raises
            UserError with what to do.
    """

    open: Callable[[RunFolder, Any, Datasets, Progress], Gallery]
