"""Embeddings of a gallery's images: computed once and kept, or those of the probe; and queries compared with all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from trainers.data import cache
from trainers.errors import RunError
from trainers.progress import Progress, part_of, silent
from trainers.retrieval.encoders import images_of
from trainers.retrieval.galleries.base import Gallery, origin
from trainers.runs import RunFolder
from trainers.training.embedding import ImageEncoder


def stored_vectors(folder: RunFolder, arm: int, gallery: Gallery, step: int | None) -> tuple[Vectors, int] | None:
    """Return the stored embeddings of a gallery's images, and their step; None: the run keeps none of these images.

    Args:
        step: the newest that are not later are taken, or the first ones; None: the newest.

    Raises:
        RunError: they are damaged or not finite.
    """
    probe = folder.probe()
    images = images_of(folder)
    if probe is None or gallery.origin != origin(images, probe.part) or not np.array_equal(probe.rows, gallery.rows):
        return None
    there = [(k, at) for k, at, _ in folder.snapshots() if folder.embeddings_path(k).is_file()]
    if not there:
        return None
    earlier = there if step is None else [snapshot for snapshot in there if snapshot[1] <= step] or there[:1]
    k, at = earlier[-1]
    rows = folder.embeddings(k)[arm]
    if len(rows) != len(gallery) or not np.isfinite(rows).all():
        raise RunError(f"The embeddings of run {folder.id} at step {at} are no finite numbers: its training diverged.")
    length = np.linalg.norm(rows.astype(np.float32), axis=1, keepdims=True)
    unit = rows.astype(np.float32) / np.where(length > 0, length, 1)
    return Vectors(rows=unit, key=cache.content_key((unit.shape, unit.tobytes()))), at


KIND = "vectors"
"""Of the entries of the disk cache."""
HALF_ABOVE = 2**28
"""Bytes in float32 above which vectors are kept in float16."""
_CHUNK = 2048  # images embedded between two reports
_BLOCK = 2**22  # numbers converted at once


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Embeddings of N images.

    Attributes:
        rows: float32 or float16 ``[N, D]``, unit rows; may be a memory map.
        key: hexadecimal; equal where the images, their order and the weights are.
    """

    rows: np.ndarray
    key: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dim(self) -> int:
        """D."""
        return int(self.rows.shape[1])

    def blocks(self, dtype: type = np.float32) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row and the values of consecutive blocks, so that a large map is never held whole."""
        step = max(1, _BLOCK // max(1, self.dim))
        for first in range(0, len(self.rows), step):
            yield first, np.ascontiguousarray(self.rows[first : first + step], dtype)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some of the vectors, float32 ``[n, D]``."""
        return np.asarray(self.rows[rows], np.float32)


def gallery_vectors(encoder: ImageEncoder, gallery: Gallery, progress: Progress = silent) -> Vectors:
    """Embed a gallery's images, or read their embeddings from the disk cache.

    The key holds the run, the arm, the step, a digest of the weights and one of the images.

    Args:
        progress: told what is done; it may raise to stop, and nothing is kept then.

    Raises:
        UserError: the images cannot be read, or the embeddings are not finite.
    """
    images, mark = gallery.images(encoder.channels, encoder.side, part_of(progress, 0.0, 0.2))
    key = cache.content_key((encoder.run, encoder.arm, encoder.step, encoder.digest, encoder.device.type, mark))
    stored = cache.read(KIND, key, map_above=0, verified=True)
    if stored is not None and _fits(stored.tensors.get("vectors"), len(images)):
        return Vectors(rows=stored.tensors["vectors"].numpy(), key=key)
    tell = part_of(progress, 0.2, 1.0)
    with cache.draft(KIND) as draft:
        try:
            if draft is not None:
                _embed(encoder, images, draft, tell)
                draft.commit(key)
                kept = cache.read(KIND, key, map_above=0)
                if kept is not None:
                    return Vectors(rows=kept.tensors["vectors"].numpy(), key=key)
        except OSError:
            pass  # the disk is full or cannot be written: they are held in memory
    return Vectors(rows=_embed(encoder, images, None, tell), key=key)


def _fits(vectors: Tensor | None, count: int) -> bool:
    return vectors is not None and vectors.ndim == 2 and len(vectors) == count and vectors.is_floating_point()


def _embed(encoder: ImageEncoder, images: Tensor, draft: cache.Draft | None, progress: Progress) -> np.ndarray:
    """Embed images as unit rows ``[N, D]``, written to the draft's array ``vectors`` if there is one."""
    count, into = len(images), None
    for first in range(0, count, _CHUNK):
        progress(f"embedding the gallery: {first:,} of {count:,}", first / count)
        part = encoder.embed(images[first : first + _CHUNK])
        if into is None:
            shape = count, part.shape[1]
            dtype = np.float32 if 4 * shape[0] * shape[1] <= HALF_ABOVE else np.float16
            into = np.empty(shape, dtype) if draft is None else draft.allocate("vectors", shape, dtype)
        into[first : first + len(part)] = part.numpy()
    progress(f"embedding the gallery: {count:,} of {count:,}", 1.0)
    assert into is not None
    return into


EXACT = 2**22
"""Numbers of a gallery up to which cosines are computed in float64."""


class QueryComparison:
    """The comparison of queries with all of one gallery's vectors.

    One product runs at a time, with all of torch's threads; the queries that arrive meanwhile share the next one: ten
    of them take little longer than one, because the time goes into reading the vectors.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self._waiting: list[tuple[np.ndarray, Future[np.ndarray | None]]] = []
        self._busy, self._lock = False, threading.Lock()

    @property
    def bytes(self) -> int:
        """Of the vectors, and of their copy in float64 where there is one; mapped ones count too."""
        rows = self.vectors.rows
        return int(rows.nbytes + (8 * rows.size if rows.size <= EXACT else 0))

    def similarities(self, query: np.ndarray) -> np.ndarray:
        """Return cosines ``[N]`` with a unit query float32 ``[D]``; the caller may write to them.

        In float64 up to :data:`EXACT` numbers, as the metrics do: scores are then those of
        :func:`trainers.metrics.evaluate`. In float32 beyond.
        """
        answered: Future[np.ndarray | None] = Future()
        with self._lock:
            self._waiting.append((query, answered))
            waits, self._busy = self._busy, True
        if waits and (answer := answered.result()) is not None:
            return answer
        return self._lead(answered)

    def _lead(self, leader: Future[np.ndarray | None]) -> np.ndarray:
        """Answer all that wait, then let the first of those that came meanwhile lead: its future gets None."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        others = [future for _, future in taken if future is not leader]
        try:
            table = self._products(np.stack([query for query, _ in taken]))
            for row, (_, future) in zip(table, taken, strict=True):
                if future is leader:
                    answer = row
                else:
                    future.set_result(row)
        except BaseException as error:  # all who wait hear of it
            for future in others:
                if not future.done():
                    future.set_exception(error)
            raise
        finally:
            with self._lock:
                self._busy = bool(self._waiting)
                if self._waiting:
                    self._waiting[0][1].set_result(None)
        return answer

    @cached_property
    def _exact(self) -> Tensor:
        return torch.nn.functional.normalize(torch.tensor(self.vectors.rows, dtype=torch.float64), dim=1)

    def _products(self, queries: np.ndarray) -> np.ndarray:
        """Return the cosines ``[Q, N]``."""
        if self.vectors.rows.size <= EXACT:
            unit = torch.nn.functional.normalize(torch.tensor(queries, dtype=torch.float64), dim=1)
            return np.stack([torch.mv(self._exact, query).numpy() for query in unit])
        asked = torch.from_numpy(np.ascontiguousarray(queries.T, np.float32))
        if self.vectors.rows.dtype == np.float32:
            return np.ascontiguousarray((torch.from_numpy(self.vectors.rows) @ asked).numpy().T)
        table = np.empty((len(queries), len(self.vectors)), np.float32)
        for first, block in self.vectors.blocks():
            table[:, first : first + len(block)] = (torch.from_numpy(block) @ asked).numpy().T
        return table
