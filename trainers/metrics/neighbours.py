"""The nearest images of each query in the order of the metrics: ties never help.

Similarities are compared on the grid of :mod:`trainers.metrics.blocks`. Of results that are equal there the less
related to the query stand first, then those of lower row, so that a list shows what the metrics have counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.data.roles import Roles
from trainers.metrics.blocks import BLOCK, GRID
from trainers.metrics.checks import check_finite
from trainers.metrics.topk import precision

_GRIDS = {np.dtype(np.float32): GRID[torch.float32], np.dtype(np.float64): GRID[torch.float64]}
_SPARE = 8  # more are looked at than asked for, to see which queries have ties at the edge of their list


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The first results of some queries.

    Attributes:
        ids: int64 ``[Q, K]``, rows of the gallery.
        similarities: float32 ``[Q, K]``, cosines.
    """

    ids: np.ndarray
    similarities: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Labels of queries and gallery, by which equally near results are ordered.

    Attributes:
        queries: integers ``[Q, L]``; gallery: ``[G, L]``; both finest first.
    """

    queries: np.ndarray
    gallery: np.ndarray


def on_grid(similarity: np.ndarray) -> np.ndarray:
    """Round similarities to the grid of the metrics, on which those that count as equal are equal: same shape, float64.

    Args:
        similarity: float32 or float64; others are taken as float64.
    """
    grid = _GRIDS.get(similarity.dtype, GRID[torch.float64])
    rounded: np.ndarray = np.rint(similarity.astype(np.float64) * grid)
    return rounded


def relation(match: np.ndarray) -> np.ndarray:
    """Rank how related results are to their query: by how many levels they share, then by which, as the metrics do.

    Args:
        match: bool ``[..., L]``, whether they share the class of a level.

    Returns:
        int64 ``[...]``, larger for what is more related.
    """
    depth = match.shape[-1]
    ranked: np.ndarray = (match.sum(axis=-1, dtype=np.int64) << depth) + match @ (1 << np.arange(depth))
    return ranked


def order(similarity: np.ndarray, rows: np.ndarray, match: np.ndarray | None) -> np.ndarray:
    """Order results, the most similar first; of equal ones the less related first, then by row: int64 ``[n]``.

    Args:
        similarity: float ``[n]``.
        rows: int64 ``[n]``, of the gallery.
        match: bool ``[G, L]``, agreement of each image of the gallery with the query; None: not known.
    """
    return _sort(on_grid(similarity), rows, None if match is None else match[rows])


def best(
    similarity: np.ndarray, k: int, left_out: np.ndarray, match: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and similarities of the ``k`` largest of one query, none of ``left_out``, as :func:`order` has them.

    Args:
        similarity: float ``[G]``; match: bool ``[G, L]``, as for :func:`order`.
        left_out: int64 ``[n]``, rows.
    """
    values = similarity
    if len(left_out):
        values = similarity.copy()
        values[left_out] = -np.inf
    k = min(k, len(values) - len(left_out))
    if k < 1:
        return np.zeros(0, np.int64), np.zeros(0, values.dtype)
    rounded = on_grid(values)
    rows = np.flatnonzero(rounded >= np.partition(rounded, -k)[-k])
    rows = rows[order(values[rows], rows, match)][:k]
    return rows, values[rows]


def nearest(
    queries: Tensor,
    gallery: Tensor,
    count: int,
    *,
    classes: Classes | None = None,
    own: np.ndarray | None = None,
    hidden: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Neighbours:
    """Find the nearest images by cosine, comparing every query with the whole gallery.

    Args:
        queries: ``[Q, D]`` floating, raw; gallery: ``[G, D]``, raw.
        count: results of each query; fewer where the gallery is smaller.
        classes: of both, for ties; None: ties go by row.
        own: int64 ``[Q]``, the row of each query in the gallery, which is left out; -1: it is not there. None: no
            query is.
        hidden: takes int64 ``[b]``, some of the queries, and returns bool ``[b, G]``, what is left out of their
            results; at least ``count`` others remain for each.

    Raises:
        UserError: values are not finite.
    """
    check_finite(queries, "embeddings")
    check_finite(gallery, "gallery")
    count = max(0, min(count, len(gallery) - bool(own is not None and (own >= 0).any())))
    parts = []
    for part, keys in _keys(queries, gallery):
        if own is not None:
            there = np.flatnonzero(own[part] >= 0)
            keys[there, own[part][there]] = -torch.inf
        if hidden is not None:
            keys[torch.from_numpy(hidden(np.arange(part.start, part.stop)))] = -torch.inf
        parts.append(_first(part, keys, classes, count))
    if not parts:
        return Neighbours(ids=np.zeros((0, count), np.int64), similarities=np.zeros((0, count), np.float32))
    return Neighbours(
        ids=np.concatenate([ids for ids, _ in parts]), similarities=np.concatenate([near for _, near in parts])
    )


def _keys(queries: Tensor, gallery: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield slices of the queries and their cosines ``[b, G]`` in units of the grid."""
    number = precision(queries, gallery)
    unit = functional.normalize(gallery.to(number), dim=1, eps=1e-12)
    step = max(1, BLOCK // max(len(gallery), 1))
    for first in range(0, len(queries), step):
        part = slice(first, min(first + step, len(queries)))
        # a power of two scales without rounding
        yield part, (functional.normalize(queries[part].to(number), dim=1, eps=1e-12) * GRID[number]) @ unit.T


def _first(asked: slice, keys: Tensor, classes: Classes | None, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first results of some queries by their keys ``[b, G]``, ids and cosines ``[b, count]``."""
    if not count:
        return np.zeros((len(keys), 0), np.int64), np.zeros((len(keys), 0), np.float32)
    grid, labels = GRID[keys.dtype], None if classes is None else classes.queries[asked]
    found = keys.topk(min(count + _SPARE, keys.shape[1]), dim=1)
    values, ids = found.values.round().numpy(), found.indices.numpy()
    match = None if classes is None or labels is None else classes.gallery[ids] == labels[:, None]
    chosen = _sort(values, ids, match)[:, :count]
    rows, near = np.take_along_axis(ids, chosen, axis=1), np.take_along_axis(values, chosen, axis=1) / grid
    if keys.shape[1] > count + _SPARE:
        for row in np.flatnonzero(values[:, count - 1] == values[:, -1]):  # more ties than were looked at
            match = None if classes is None or labels is None else classes.gallery == labels[row]
            rows[row], near[row] = best(keys[row].numpy() / grid, count, np.zeros(0, np.int64), match)
    return rows, near.astype(np.float32)


def _sort(values: np.ndarray, rows: np.ndarray, match: np.ndarray | None) -> np.ndarray:
    """Order results along the last axis by their similarity on the grid, how related they are, and row."""
    return np.lexsort((rows, -values) if match is None else (rows, relation(match), -values), axis=-1)


def nearest_images(rows: Tensor, labels: np.ndarray, count: int, roles: Roles | None = None) -> np.ndarray:
    """Find the nearest others of each image, or the nearest of its gallery; see :func:`nearest`.

    Args:
        rows: ``[P, D]`` floating, raw embeddings.
        labels: integers ``[P, L]``, finest first.
        count: results of each image; fewer where there are fewer.
        roles: of these images; None: they are not divided.

    Returns:
        int64 ``[P, k]``, rows of these images.

    Raises:
        UserError: values are not finite.
    """
    classes = Classes(queries=labels, gallery=labels)
    if roles is None:
        return nearest(rows, rows, count, classes=classes, own=np.arange(len(rows))).ids
    finest = labels[:, 0]
    fewest = min(count, roles.least(finest))
    return nearest(rows, rows, fewest, classes=classes, hidden=lambda part: roles.hidden(part, finest)).ids
