"""Groups of classes with similar names, and groups of such groups: a first draft of superclasses.

Groups of classes with similar names, and groups of such groups: a first draft of superclasses, to be reviewed.

As Ramzi et al. (2023) make those of landmarks: names embedded by CLIP's text tower, clustered by k-means; where its
weights are not at hand, by the sentence encoder of ConSE.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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


TOWERS = (Choice(name="clip_vit_b32"), Choice(name="conse"))
"""The models whose text towers are used, the best first."""
WAYS = {
    "meaning": "What the names mean: CLIP's text tower, or ConSE's",
    "words": "Words and letters they share: no weights needed",
}
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

    def __call__(self, names: Sequence[str], by: str) -> np.ndarray:
        """Embed names as unit rows float64 [N, D].

        Args:
            by: of :data:`WAYS`; ``meaning`` asks the model that was given to this encoder, else :func:`usual_tower`.

        Raises:
            UserError: the model cannot be had.
        """
        if by == "words":
            return _by_words(names)
        tower = usual_tower()
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


def usual_tower() -> Choice:
    """Return the first model of :data:`TOWERS` whose weights are on this machine, else the first."""
    models = ((tower, MODELS[tower.name], MODELS[tower.name].checked(tower.parameters)) for tower in TOWERS)
    here = (tower for tower, model, values in models if not (model.missing(values) or model.download(values)))
    return next(here, TOWERS[0])


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
        by: how names are compared, of :data:`trainers.image_text.class_groups.WAYS`.

    Raises:
        UserError: there are too few or too many classes for so many groups, or the model cannot be had.
    """
    _check(names, of, by)
    items = len(names) if of is None else max(of) + 1
    if not 2 <= count < items:
        raise UserError(
            f"From 2 to {max(2, items - 1):,} groups, of at least 3 classes, were needed; got {count:,} of {items:,}."
        )
    unit = (encoder or NameEncoder())(names, by)
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
    unit = embed([*names, *into], by)
    items = unit[: len(names)] if of is None else centres(unit[: len(names)], np.asarray(of), max(of) + 1)
    return np.asarray((items @ unit[len(names) :].T).argmax(1), dtype=np.int64)


def _check(names: Sequence[str], of: Sequence[int] | None, by: str) -> None:
    if by not in WAYS:
        raise UserError(f"Names are compared by {' or '.join(WAYS)}; got {by!r:.40}.")
    if not 1 <= len(names) <= SHOWN:
        raise UserError(f"From 1 to {SHOWN:,} names of classes were needed; got {len(names):,}.")
    if of is not None and (len(of) != len(names) or {*of} != {*range(len({*of}))}):
        raise UserError("A group from 0 on, none of them empty, was needed for each class.")
