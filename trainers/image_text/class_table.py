"""The table of classes and superclasses: made by clustering, split, put under a further level, written and read.

Groups of classes with similar names, and groups of such groups, are a first draft, to be reviewed: as Ramzi et al.
(2023) make those of landmarks, names are embedded by CLIP's text tower and clustered by k-means.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainers.cells import csv_text, some
from trainers.data.labelled.hierarchies.mapping import DROPPED, read_mapping
from trainers.data.labelled.report import SHOWN
from trainers.data.lru_cache import Cache
from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.encoding import encode_texts
from trainers.image_text.models import MODELS
from trainers.parameters import Choice

_STARTS = 10
_MOST_ROUNDS = 100


def kmeans(unit: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Cluster unit vectors by spherical k-means, of ten k-means++ starts the one with the largest sum of cosines.

    Args:
        unit: float64 [N, D], rows of length 1.
        count: of clusters, 1 to N; each gets a vector or more.

    Returns:
        int64 [N]; clusters are numbered in the order of their first vectors.
    """
    best, most = np.zeros(len(unit), dtype=np.int64), -np.inf
    for start in range(_STARTS):
        labels, total = _from_start(unit, count, np.random.default_rng((seed, start)))
        if total > most + 1e-9:
            best, most = labels, total
    _, first, inverse = np.unique(best, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)


def centres(unit: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """Return the mean directions of clusters, float64 [count, D] of length 1; 0 where vectors cancel out."""
    sums = np.zeros((count, unit.shape[1]))
    np.add.at(sums, labels, unit)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


def _from_start(unit: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    centre = unit[_spread(unit, count, rng)]
    labels = np.full(len(unit), -1)
    for _ in range(_MOST_ROUNDS):
        cosines = unit @ centre.T
        chosen = _without_empty(cosines.argmax(1), cosines, count)
        if (chosen == labels).all():
            break
        labels = chosen
        centre = centres(unit, labels, count)
    return labels, float((unit * centre[labels]).sum())


def _spread(unit: np.ndarray, count: int, rng: np.random.Generator) -> list[int]:
    """Choose vectors to begin with as k-means++ does: each with a chance that grows with its squared distance."""
    chosen = [int(rng.integers(len(unit)))]
    distance = np.full(len(unit), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.clip(1 - unit @ unit[chosen[-1]], 0, None))
        distance[chosen] = 0
        if distance.sum() > 1e-12:
            chosen.append(int(rng.choice(len(unit), p=distance / distance.sum())))
        else:  # the rest are equal to some of these
            chosen.append(min({*range(len(unit))} - {*chosen}))
    return chosen


def _without_empty(labels: np.ndarray, cosines: np.ndarray, count: int) -> np.ndarray:
    """Give every cluster without vectors the one that is farthest from its centre, of a cluster with several."""
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=count)
    for empty in np.flatnonzero(sizes == 0):
        near = np.where(sizes[labels] > 1, cosines[np.arange(len(labels)), labels], np.inf)
        row = int(near.argmin())
        sizes[labels[row]] -= 1
        sizes[empty] = 1
        labels[row] = empty
    return labels


TOWER = Choice(name="clip_vit_b32")
"""The model whose text tower is used."""
WAYS = {"meaning": "What the names mean: CLIP's text tower", "words": "Words and letters they share: no weights needed"}
"""How names can be compared, with titles."""
_PROMPT = "a photo of a {}"
_KEPT = 64 * 2**20  # bytes of the embeddings that are kept
_COLUMNS = 1024  # that words and trigrams are hashed to
_WORD = 3.0  # what a whole word weighs, a trigram being 1


class NameEncoder:
    """Embeds names; those that a text tower made last are kept, so that a second look at the same names is quick."""

    def __init__(self, model: ImageTextModel | None = None) -> None:
        self._model = model
        self._kept: Cache[np.ndarray] = Cache(limit=_KEPT, cost=lambda row: int(row.nbytes))

    def __call__(self, names: Sequence[str], by: str, tower: Choice = TOWER) -> np.ndarray:
        """Embed names as unit rows float64 [N, D].

        Args:
            by: of :data:`WAYS`.
            tower: for ``meaning``; the model that was given to this encoder takes its place.

        Raises:
            UserError: the model cannot be had.
        """
        if by == "words":
            return _by_words(names)
        key = repr(tower)
        rows = {name: self._kept.find((key, name)) for name in dict.fromkeys(names)}
        new = [name for name, row in rows.items() if row is None]
        if new:
            model = self._model or MODELS[tower.name].build(tower.parameters).eval()
            made = encode_texts(model, [_PROMPT.format(plain(name)) for name in new]).double().numpy()
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            for name, row in zip(new, made, strict=True):
                rows[name] = self._kept.get((key, name), row.copy)
        return np.stack([row for name in names if (row := rows[name]) is not None])


def plain(name: str) -> str:
    """Return a name in words: ``red_Apple-2`` is ``red Apple 2``."""
    return re.sub(r"[\W_]+", " ", name).strip() or name


def _by_words(names: Sequence[str]) -> np.ndarray:
    """Embed names by their words and the trigrams of these; rare ones weigh more."""
    counted = [_parts(name) for name in names]
    often = Counter(part for parts in counted for part in parts)
    unit = np.zeros((len(names), _COLUMNS))
    for row, parts in zip(unit, counted, strict=True):
        for part, weight in parts.items():
            column = zlib.crc32(part.encode())
            row[column % _COLUMNS] += weight * np.log((1 + len(names)) / often[part]) * (1 if column >> 31 else -1)
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    return np.divide(unit, lengths, out=np.full_like(unit, _COLUMNS**-0.5), where=lengths > 0)


def _parts(name: str) -> dict[str, float]:
    parts: dict[str, float] = {}
    for word in re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain(name)).lower().split():
        parts[f" {word} "] = _WORD
        padded = f" {word} "
        parts.update({padded[at : at + 3]: 1.0 for at in range(len(padded) - 2) if len(padded) > 3})
    return parts


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
        by: how names are compared, of :data:`trainers.image_text.class_table.WAYS`.

    Raises:
        UserError: there are too few or too many classes for so many groups, or the model cannot be had.
    """
    _check(names, of, by)
    items = len(names) if of is None else max(of) + 1
    if not 2 <= count < items:
        raise UserError(
            f"From 2 to {max(2, items - 1):,} groups, of at least 3 classes, were needed; got {count:,} of {items:,}."
        )
    unit = (encoder or NameEncoder())(names, by, TOWER)
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
    unit = embed([*names, *into], by, TOWER)
    items = unit[: len(names)] if of is None else centres(unit[: len(names)], np.asarray(of), max(of) + 1)
    return np.asarray((items @ unit[len(names) :].T).argmax(1), dtype=np.int64)


def _check(names: Sequence[str], of: Sequence[int] | None, by: str) -> None:
    if by not in WAYS:
        raise UserError(f"Names are compared by {' or '.join(WAYS)}; got {by!r:.40}.")
    if not 1 <= len(names) <= SHOWN:
        raise UserError(f"From 1 to {SHOWN:,} names of classes were needed; got {len(names):,}.")
    if of is not None and (len(of) != len(names) or {*of} != {*range(len({*of}))}):
        raise UserError("A group from 0 on, none of them empty, was needed for each class.")


SUPERCLASS, TOP = "superclass", "top"
"""Names of the first level above the classes, and of the next."""


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How groups are made of names: see :func:`trainers.image_text.class_table.class_groups`."""

    encoder: NameEncoder
    by: str = "meaning"
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class ClassTable:
    """Classes with their superclasses.

    Attributes:
        levels: names of the levels, finest first.
        rows: for each class its name and those of its superclasses; of one that is dropped
            :data:`trainers.data.labelled.hierarchies.mapping.DROPPED` in their place.
    """

    levels: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def clustered(cls, level: str, classes: Sequence[str], count: int, how: Similarity) -> ClassTable:
        """Put classes under ``count`` superclasses; ``level`` is what their own level is called.

        Raises:
            UserError: there are too few classes for so many, or the model cannot be had.
        """
        made = class_groups(classes, count, by=how.by, seed=how.seed, encoder=how.encoder)
        return cls(levels=(level, SUPERCLASS), rows=tuple(zip(classes, made.titles(classes), strict=True)))

    @classmethod
    def read(cls, table: str, level: str, classes: Sequence[str]) -> ClassTable:
        """Read a table, or the file that ``table`` names; classes with several superclasses are dropped.

        Raises:
            DataError: it cannot be read, or lacks classes.
        """
        made = read_mapping(table, classes, drop_several=True)
        gone = (DROPPED,) * (len(made.names) - 1)
        rows = tuple(made.paths.get(name, (name, *gone)) for name in classes)
        return cls(levels=(level, *made.names[1:]), rows=rows)

    def split(self, group: str, count: int, how: Similarity) -> ClassTable:
        """Divide a superclass in ``count``, by clustering its classes; what is above it is above each.

        Raises:
            UserError: there is no such superclass, or it has too few classes.
        """
        members = [row[0] for row in self.rows if row[1] == group]
        if not members:
            raise UserError(f"There is no superclass {group!r:.60}; there are: {some(self._names(1))}.")
        if len(members) == count:
            titles = members
        else:
            made = class_groups(members, count, by=how.by, seed=how.seed, encoder=how.encoder)
            titles = made.titles(members)
        taken = {*self._names(1)} - {group}
        fresh = dict(zip(members, _unlike(titles, taken), strict=True))
        rows = tuple((row[0], fresh[row[0]], *row[2:]) if row[0] in fresh else row for row in self.rows)
        return replace(self, rows=rows)

    def above(self, into: int | Sequence[str], how: Similarity) -> ClassTable:
        """Put a level above the coarsest: so many clusters of its groups, or groups of these names, each the nearest.

        Raises:
            UserError: there are too few groups for so many, or the model cannot be had.
        """
        kept = [row for row in self.rows if row[-1] != DROPPED]
        groups = list(dict.fromkeys(row[-1] for row in kept))
        names, of = [row[0] for row in kept], [groups.index(row[-1]) for row in kept]
        if isinstance(into, int):
            titles = class_groups(names, into, of=of, by=how.by, seed=how.seed, encoder=how.encoder).titles(groups)
        else:
            nearest = nearest_groups(names, into, of=of, by=how.by, encoder=how.encoder)
            titles = [into[number] for number in nearest]
        over = dict(zip(groups, titles, strict=True)) | {DROPPED: DROPPED}
        title = TOP if TOP not in self.levels else f"level {len(self.levels)}"
        return replace(self, levels=(*self.levels, title), rows=tuple((*row, over[row[-1]]) for row in self.rows))

    def groups(self, level: int = 1) -> dict[str, list[str]]:
        """Return the groups of a level with their classes; without those that are dropped."""
        made: dict[str, list[str]] = {name: [] for name in self._names(level)}
        for row in self.rows:
            if row[level] != DROPPED:
                made[row[level]].append(row[0])
        return made

    def csv(self) -> str:
        """Write it as CSV with a header, as a mapping reads it."""
        return csv_text(self.levels, self.rows)

    def _names(self, level: int) -> list[str]:
        return [name for name in dict.fromkeys(row[level] for row in self.rows) if name != DROPPED]


def _unlike(titles: Sequence[str], taken: set[str]) -> list[str]:
    """Change titles that are taken: ``church`` becomes ``church 2``."""
    made: dict[str, str] = {}
    for title in dict.fromkeys(titles):
        number, fresh = 1, title
        while fresh in taken:
            number += 1
            fresh = f"{title} {number}"
        taken = taken | {fresh}
        made[title] = fresh
    return [made[title] for title in titles]
