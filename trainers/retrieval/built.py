"""An index that was built, with its recall against exact search."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from trainers.data import cache
from trainers.progress import Progress
from trainers.retrieval.indexes import Flat, Index, IndexDescriptor, Size
from trainers.retrieval.vectors import Vectors

KIND = "indexes"
"""Of the entries of the disk cache."""
RECALL_AT = 10
_FILE = "index.faiss"
_SAMPLE = 100  # rows whose neighbours are also found exactly


@dataclass(frozen=True, kw_only=True)
class Built:
    """An index, ready to be searched.

    Attributes:
        descriptor, index: what it is.
        recall: share of the :data:`RECALL_AT` nearest other vectors that it finds, mean over a sample of the gallery.
        seconds: that building took.
        bytes: about what it takes in memory.
    """

    descriptor: IndexDescriptor
    index: Index
    recall: float
    seconds: float
    bytes: int

    def nearest(
        self, vectors: Vectors, query: np.ndarray, k: int, left_out: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows int64 ``[n]`` and exact similarities float32 ``[n]`` of about the ``k`` nearest, nearest first.

        Args:
            query: float32 ``[D]``, unit.
            left_out: row that is left out.
        """
        return _nearest(self.index, self.descriptor.candidates, vectors, query[None], k, [left_out])[0]


def build(descriptor: IndexDescriptor, vectors: Vectors, parameters: Any, progress: Progress) -> Built:
    """Build the index of some vectors, or read it from the disk cache; ``progress`` may raise to stop.

    A file that is damaged is removed, and the index is built again.
    """
    if descriptor.open is None:
        return _built(descriptor, vectors, descriptor.build(vectors, parameters, progress), recall=1.0, seconds=0.0)
    key = cache.content_key((vectors.key, len(vectors), descriptor.name, parameters, version("faiss-cpu")))
    kept = _kept(descriptor, vectors, parameters, key)
    if kept is not None:
        return kept
    started = time.perf_counter()
    index = descriptor.build(vectors, parameters, progress)
    seconds = time.perf_counter() - started
    about = {"recall": measured_recall(index, descriptor.candidates, vectors), "seconds": seconds}
    with cache.draft(KIND) as draft, suppress(OSError):  # what cannot be kept is searched all the same
        if draft is not None:
            index.write(draft.file(_FILE))
            draft.commit(key, about)
            kept = _kept(descriptor, vectors, parameters, key)
    return kept or _built(descriptor, vectors, index, **about)


def _kept(descriptor: IndexDescriptor, vectors: Vectors, parameters: Any, key: str) -> Built | None:
    """Read an index from the disk cache, safe from eviction as long as it is used."""
    entry = cache.read(KIND, key)
    if entry is None or descriptor.open is None:
        return None
    try:
        index = descriptor.open(entry.files[_FILE], parameters)
        cache.hold(entry.files[_FILE].parent, index)
        return _built(descriptor, vectors, index, **entry.about)
    except (RuntimeError, OSError, KeyError, TypeError):  # another version's, or evicted at this moment
        return None


def _built(descriptor: IndexDescriptor, vectors: Vectors, index: Index, *, recall: float, seconds: float) -> Built:
    size = Size(count=len(vectors), dim=vectors.dim, memory=0)
    return Built(descriptor=descriptor, index=index, recall=recall, seconds=seconds, bytes=descriptor.bytes(size))


def measured_recall(index: Index, candidates: int, vectors: Vectors) -> float:
    """Recall at :data:`RECALL_AT` against exact search, over rows spread evenly over the gallery."""
    rows = np.unique(np.linspace(0, len(vectors) - 1, min(_SAMPLE, len(vectors))).astype(np.int64))
    queries, owns = vectors.take(rows), rows.tolist()
    exact = _nearest(Flat(vectors), 1, vectors, queries, RECALL_AT, owns)
    approximate = _nearest(index, candidates, vectors, queries, RECALL_AT, owns)
    shares = [len(np.intersect1d(a, b)) / len(a) for (a, _), (b, _) in zip(exact, approximate, strict=True) if len(a)]
    return float(np.mean(shares)) if shares else 1.0


def _nearest(
    index: Index, candidates: int, vectors: Vectors, queries: np.ndarray, k: int, owns: list[int | None] | list[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each query the rows that the index finds, ordered by exact similarity, equal ones by row."""
    wanted = min(len(vectors), (k + 1) * candidates)
    answers = []
    for query, left_out, ids in zip(queries, owns, index.search(queries, wanted), strict=True):
        rows = np.unique(ids[(ids >= 0) & (ids < len(vectors)) & (ids != (-1 if left_out is None else left_out))])
        similarity = vectors.take(rows) @ query
        order = np.lexsort((rows, -similarity))[:k]
        answers.append((rows[order], similarity[order]))
    return answers
