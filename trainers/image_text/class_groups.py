"""Groups of classes with similar names, and groups of such groups: a first draft of superclasses, to be reviewed.

As Ramzi et al. (2023) make those of landmarks: names embedded by CLIP's text tower, clustered by k-means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainers.data.labelled.report import SHOWN
from trainers.errors import UserError
from trainers.image_text import name_embeddings
from trainers.image_text.kmeans import centres, kmeans
from trainers.image_text.name_embeddings import WAYS, NameEncoder


@dataclass(frozen=True, kw_only=True)
class ClassGroups:
    """Groups of N items, which are classes or groups of classes.

    Attributes:
        of: the group of each item, int64 [N]; groups are numbered in the order of their first items.
        named_after: the item of each group that is nearest to its mean, int64 [count].
    """

    of: np.ndarray
    named_after: np.ndarray

    def titles(self, names: Sequence[str]) -> list[str]:
        """Return the name of the group of each item, by the names of the items."""
        return [names[self.named_after[group]] for group in self.of]


def class_groups(
    names: Sequence[str],
    count: int,
    *,
    of: Sequence[int] | None = None,
    by: str = "meaning",
    seed: int = 0,
    encoder: NameEncoder | None = None,
) -> ClassGroups:
    """Cluster classes, or groups of classes, into ``count`` groups by k-means of the embeddings of their names.

    The order of the classes changes nothing.

    Args:
        of: groups of the classes, integers from 0 [N]; these are clustered by their means. None: the classes are.
        by: how names are compared, of :data:`trainers.image_text.name_embeddings.WAYS`.

    Raises:
        UserError: there are too few or too many classes for so many groups, or the model cannot be had.
    """
    _check(names, of, by)
    items = len(names) if of is None else max(of) + 1
    if not 2 <= count < items:
        raise UserError(
            f"From 2 to {max(2, items - 1):,} groups, of at least 3 classes, were needed; got {count:,} of {items:,}."
        )
    unit = (encoder or NameEncoder())(names, by, name_embeddings.TOWER)
    unit = unit if of is None else centres(unit, np.asarray(of), items)
    members: list[list[str]] = [[] for _ in range(items)]
    for name, item in zip(names, range(items) if of is None else of, strict=True):
        members[item].append(name)
    order = sorted(range(items), key=lambda item: sorted(members[item]))
    labels = np.empty(items, dtype=np.int64)
    labels[order] = kmeans(unit[order], count, seed)
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[labels.reshape(-1)]
    cosines = (unit * centres(unit, labels, count)[labels]).sum(1)
    near = [max(np.flatnonzero(labels == group), key=lambda item: cosines[item]) for group in range(count)]
    return ClassGroups(of=labels, named_after=np.array(near))


def nearest_groups(
    names: Sequence[str],
    into: Sequence[str],
    *,
    of: Sequence[int] | None = None,
    by: str = "meaning",
    encoder: NameEncoder | None = None,
) -> np.ndarray:
    """Return for classes, or groups of classes, which of the names ``into`` is nearest to theirs, int64 [N].

    Raises:
        UserError: fewer than two different names, or too many classes, are given, or the model cannot be had.
    """
    _check(names, of, by)
    if not 2 <= len({*into}) == len(into) <= SHOWN:
        raise UserError(f"Two or more different names of groups were needed; got {', '.join(into)[:80] or 'none'}.")
    embed = encoder or NameEncoder()
    unit = embed([*names, *into], by, name_embeddings.TOWER)
    items = unit[: len(names)] if of is None else centres(unit[: len(names)], np.asarray(of), max(of) + 1)
    return np.asarray((items @ unit[len(names) :].T).argmax(1), dtype=np.int64)


def _check(names: Sequence[str], of: Sequence[int] | None, by: str) -> None:
    if by not in WAYS:
        raise UserError(f"Names are compared by {' or '.join(WAYS)}; got {by!r:.40}.")
    if not 1 <= len(names) <= SHOWN:
        raise UserError(f"From 1 to {SHOWN:,} names of classes were needed; got {len(names):,}.")
    if of is not None and (len(of) != len(names) or {*of} != {*range(len({*of}))}):
        raise UserError("A group from 0 on, none of them empty, was needed for each class.")
