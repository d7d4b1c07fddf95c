"""Queries and gallery: which images of a test are searched for, and among which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.data.base import CAMERA, GALLERY, QUERY, ROLE


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The roles of N images.

    A query is searched for among the gallery, without the images of its finest class by its own camera, as Zheng et
    al., "Scalable Person Re-identification: A Benchmark", ICCV 2015, do. An image of the gallery, which no number is
    about, can be searched for among the others of the gallery.

    Attributes:
        query, gallery: bool ``[N]``; an image is at most one of both.
        camera: int64 ``[N]``, -1 where it is not known; None: of no image.
    """

    query: np.ndarray
    gallery: np.ndarray
    camera: np.ndarray | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> Roles | None:
        """Read them from the attributes of images; None: these are not divided, or one side is empty.

        Args:
            values: integers ``[N]`` by attribute, arrays or tensors.
            names: of the values of each attribute.
        """
        if ROLE not in values or not {QUERY, GALLERY} <= set(names[ROLE]):
            return None
        role, of_roles = np.asarray(values[ROLE]), list(names[ROLE])
        query, gallery = role == of_roles.index(QUERY), role == of_roles.index(GALLERY)
        if not (query.any() and gallery.any()):
            return None
        if CAMERA not in values:
            return cls(query=query, gallery=gallery)
        camera = np.asarray(values[CAMERA]).astype(np.int64)
        known = np.array([*(bool(name) for name in names[CAMERA]), False])  # the last stands for -1
        return cls(query=query, gallery=gallery, camera=np.where(known[camera], camera, -1))

    def take(self, rows: np.ndarray) -> Roles:
        """Return those of some of the images."""
        camera = None if self.camera is None else self.camera[rows]
        return Roles(query=self.query[rows], gallery=self.gallery[rows], camera=camera)

    @property
    def queries(self) -> np.ndarray:
        """int64 ``[Q]``, rows of the queries."""
        return np.flatnonzero(self.query)

    @property
    def searched(self) -> np.ndarray:
        """int64 ``[G]``, rows of the gallery."""
        return np.flatnonzero(self.gallery)

    def groups(self, finest: np.ndarray) -> np.ndarray:
        """Give images a number each: a query does not find the images of the gallery that have its own.

        Args:
            finest: integers ``[N]``, finest classes.

        Returns:
            int64 ``[N]``; images whose camera is not known have one of their own.
        """
        alone = -1 - np.arange(len(finest))
        if self.camera is None:
            return alone
        classes = np.unique(finest, return_inverse=True)[1].reshape(-1)
        return np.where(self.camera < 0, alone, classes * (1 + self.camera.max(initial=0)) + self.camera)

    def hidden(self, rows: np.ndarray, finest: np.ndarray) -> np.ndarray:
        """Return bool ``[n, N]``: which images each of some images is not searched among."""
        numbers = self.groups(finest)
        hidden = self.query[rows, None] & (numbers[rows, None] == numbers) | ~self.gallery
        hidden[np.arange(len(rows)), rows] = True
        return hidden

    def least(self, finest: np.ndarray) -> int:
        """Return how many images an image is searched among, the fewest that there are."""
        return int((self.gallery.sum() - self.gallery - self._apart(finest)).min(initial=len(finest)))

    def to_find(self, labels: np.ndarray) -> np.ndarray:
        """Count the images of its class at each level that an image is searched among: int64 ``[N, L]``.

        Args:
            labels: integers ``[N, L]``, finest first.
        """
        size = 1 + labels.max(initial=-1)
        found = [np.bincount(column[self.gallery], minlength=size)[column] for column in labels.T]
        return np.stack(found, axis=1) - (self.gallery + self._apart(labels[:, 0]))[:, None]

    def _apart(self, finest: np.ndarray) -> np.ndarray:
        """Count the images of the gallery that each query does not find: int64 ``[N]``, 0 for other images."""
        numbers = np.unique(self.groups(finest), return_inverse=True)[1].reshape(-1)
        sizes = np.bincount(numbers[self.gallery], minlength=len(numbers) and 1 + numbers.max())
        return np.where(self.query, sizes[numbers], 0)

    def sentence(self, what: str) -> str:
        """Say who is searched for among whom.

        Args:
            what: where the images are from, ``of the test set``.
        """
        count = int(self.query.sum())
        asked = f"1 image {what} is" if count == 1 else f"{count:,} images {what} are"
        cameras = "" if self.camera is None else ", without images of the same class by the same camera"
        return f"queries: {asked} searched for among {self.gallery.sum():,}, the gallery{cameras}"
