"""Queries and gallery of a test, and the fixed images that the maps show, the same for every run on a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.data.base import CAMERA, GALLERY, QUERY, ROLE
from trainers.data.labelled.splits import repeated


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


_PER_CLASS = 4


def choose_probe(labels: Tensor, size: int, seed: int, roles: Roles | None = None) -> Tensor:
    """Pick images so that every branch of the tree is seen and every picked image has others to be found by.

    With room for two images of every class, every class gets two to four and the rest is dealt out in proportion to
    the classes' sizes. With less room, as many classes as fit get four each, spread evenly over the coarser levels. No
    class is shown with a single image, unless no class has more. Of a test of queries and a gallery, classes are shown
    that have a query with something to find, with as many queries as images of the gallery as far as there are both;
    where there is room left, other images of the gallery.

    Args:
        labels: int64 [N, L], finest level first.
        size: number of images P wanted, at least 2.
        seed: of the choice; the same input gives the same images.
        roles: of the images; None: they have none.

    Returns:
        int64 [P], ascending indices, P at most ``size``; all N if ``size`` is N or more.
    """
    rows = labels.reshape(len(labels), -1).cpu().numpy()
    if size >= len(rows):
        return torch.arange(len(rows))
    rng = np.random.default_rng(seed)
    order = shuffled = rng.permutation(len(rows))
    if roles is not None:
        order = _by_turns(rows, roles, shuffled)
    order = order[repeated(rows[order, 0])]
    order = order[np.argsort(rows[order, 0], kind="stable")]  # class by class, random inside
    classes, first, counts = np.unique(rows[order, 0], return_index=True, return_counts=True)
    if not len(classes):
        return torch.from_numpy(np.sort(rng.permutation(len(rows))[:size]))
    quota = _quota(_spread(rows[order], rng), dict(zip(classes.tolist(), counts.tolist(), strict=True)), size)
    begin = dict(zip(classes.tolist(), first.tolist(), strict=True))
    picked = [order[begin[label] : begin[label] + count] for label, count in quota.items()]
    chosen = np.concatenate(picked)
    if roles is not None:
        others = shuffled[roles.gallery[shuffled] & ~np.isin(shuffled, chosen)]
        chosen = np.concatenate([chosen, others[: size - len(chosen)]])
    return torch.from_numpy(np.sort(chosen))


def _by_turns(rows: np.ndarray, roles: Roles, order: np.ndarray) -> np.ndarray:
    """Return the images of classes that have a query with something to find; each class begins with such a query and an
    image that it finds, and goes on with a query and an image of the gallery in turn.
    """
    finds = roles.query & (roles.to_find(rows)[:, 0] > 0)
    order = order[np.isin(rows[order, 0], rows[finds, 0]) & (roles.query | roles.gallery)[order]]
    order = order[np.argsort(~finds[order] & roles.query[order], kind="stable")]  # queries that find nothing come last
    first = order[finds[order]]
    classes, places = np.unique(rows[first, 0], return_index=True)
    groups = roles.groups(rows[:, 0])
    of_first = groups[first[places]][np.searchsorted(classes, rows[order, 0])]
    order = order[np.argsort(roles.gallery[order] & (groups[order] == of_first), kind="stable")]
    by_side = np.lexsort((roles.gallery[order], rows[order, 0]))  # stable
    sides = rows[order[by_side], 0] * 2 + roles.gallery[order[by_side]]
    turn = np.empty(len(order), np.int64)
    turn[by_side] = np.arange(len(order)) - np.searchsorted(sides, sides)
    return order[np.lexsort((roles.gallery[order], turn))]


def _quota(classes: list[int], counts: dict[int, int], size: int) -> dict[int, int]:
    """Deal out images per class, in rounds in the given order of classes; never a single one."""
    each = max(2, min(_PER_CLASS, size // len(classes))) if 2 * len(classes) <= size else _PER_CLASS
    shown = classes[: max(1, size // each)]
    quota = {label: min(each, counts[label], size) for label in shown}
    rest = size - sum(quota.values())
    for label in classes[len(shown) :]:  # small classes left some room
        take = min(each, counts[label], rest)
        if take >= 2:
            quota[label] = take
            rest -= take
    total = sum(counts[label] for label in quota)
    for label in quota:
        quota[label] += min(counts[label] - quota[label], rest * counts[label] // total)
    left = size - sum(quota.values())
    for label in quota:
        extra = min(left, counts[label] - quota[label])
        quota[label] += extra
        left -= extra
    return quota


def _spread(rows: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Order the finest classes so that every prefix is spread over the tree: one per parent, then the next per parent.

    Level by level from the finest: a class's turn is its place among its siblings, then its parent's among its own.
    """
    tree = np.unique(rows, axis=0)
    tree = tree[rng.permutation(len(tree))]
    turns = []
    for level in range(1, tree.shape[1]):
        _, first = np.unique(tree[:, level - 1], return_index=True)
        rank: dict[int, int] = {}
        seen: dict[int, int] = {}
        for index in np.sort(first):
            parent = int(tree[index, level])
            rank[int(tree[index, level - 1])] = seen.get(parent, 0)
            seen[parent] = seen.get(parent, 0) + 1
        turns.append(np.array([rank[int(label)] for label in tree[:, level - 1]]))
    # One class of each parent comes before the second of any; among those, one parent of each grandparent first.
    order = np.lexsort(turns[::-1]) if turns else np.arange(len(tree))
    return [int(label) for label in tree[order, 0]]
