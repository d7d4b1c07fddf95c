"""What searches keep between queries: galleries, encoders, embeddings of galleries and built indexes."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from torch import Tensor

from trainers.data import cache, settings
from trainers.data.lru_cache import Cache
from trainers.errors import UserError
from trainers.parameters import Choice, entry
from trainers.progress import Progress, silent
from trainers.retrieval.encoders import images_of, read_encoder
from trainers.retrieval.galleries import GALLERIES, Datasets, Gallery
from trainers.retrieval.indexes import AUTO, Chosen, Flat, Index, IndexDescriptor, Size
from trainers.retrieval.results import RunArm
from trainers.retrieval.vectors import QueryComparison, Vectors, gallery_vectors
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.training.embedding import ImageEncoder

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


KEPT_VECTORS = 2**24
"""Most bytes of embeddings of galleries kept in memory for further searches, copies in float64 counted; small ones are
read again in milliseconds."""
_COMPARED = 8  # of so many arms searched last they are kept however large they are; large ones are mapped from disk
KEPT_INDEXES = 2**29
"""Most bytes of indexes kept in memory; the last one is kept however large it is."""
_ENCODERS = 8  # kept in memory
_GALLERIES = 4


class Kept:
    """What searches keep between queries; any number of threads may ask at once.

    Args:
        memory: bytes that an index may take; None: those for decoded images, see :mod:`trainers.data.settings`.
    """

    def __init__(self, memory: int | None = None) -> None:
        self.memory = settings.memory_bytes() if memory is None else memory
        self._datasets = Datasets()
        self._galleries: Cache[Gallery] = Cache(limit=_GALLERIES)
        self._encoders: Cache[ImageEncoder] = Cache(limit=_ENCODERS)
        self._comparisons: Cache[QueryComparison] = Cache(
            limit=min(self.memory, KEPT_VECTORS), cost=lambda comparison: comparison.bytes, least=_COMPARED
        )
        self._encoding = threading.Lock()
        self._built: Cache[Built] = Cache(limit=min(self.memory, KEPT_INDEXES), cost=lambda built: built.bytes, least=1)

    def gallery(self, home: RunFolder, choice: Choice, progress: Progress = silent) -> Gallery:
        """Return a gallery: of the run ``home``, or another dataset.

        Raises:
            UserError: there is no such gallery, it cannot be read, or may not be opened here.
        """
        descriptor = entry(GALLERIES, choice.name, "gallery")
        parameters = descriptor.checked(choice.parameters)
        home.check()
        key = (home.path, choice.name, repr(parameters), home.probe() is not None)
        return self._galleries.get(key, lambda: descriptor.open(home, parameters, self._datasets, progress))

    def encoder(self, arm: RunArm) -> ImageEncoder:
        """Return the arm's encoder, read again when its checkpoint is written again."""
        with reading(arm.folder.id, passed=UserError):
            path = arm.folder.path / "ckpt" / "last.safetensors"
            written = path.stat().st_mtime_ns if path.is_file() else 0

        def read() -> ImageEncoder:
            return read_encoder(arm.folder, arm.arm, lambda: _own_shape(arm.folder, self._datasets))

        return self._encoders.get((arm.folder.path, arm.arm, written), read)

    def embed(self, encoder: ImageEncoder, images: Tensor) -> np.ndarray:
        """Embed images, float32 ``[N, D]``; torch gives all its threads to one query at a time."""
        with self._encoding:
            embedded: np.ndarray = encoder.embed(images).numpy()
        return embedded

    def comparison(self, vectors: Vectors) -> QueryComparison:
        """Return what compares queries with stored embeddings."""
        return self._comparisons.get(vectors.key, lambda: QueryComparison(vectors))

    def compared(self, encoder: ImageEncoder, gallery: Gallery, progress: Progress) -> QueryComparison:
        """Return what compares queries with the images of a gallery, which are embedded for the first of them."""
        key = (encoder.digest, gallery.origin, gallery.choice, gallery.rows.tobytes())
        return self._comparisons.get(key, lambda: QueryComparison(gallery_vectors(encoder, gallery, progress)))

    def index(self, vectors: Vectors, chosen: Chosen, choice: Choice, progress: Progress) -> Built:
        """Return the index of the embeddings of a gallery, built for the first search; ``choice``: as asked for."""
        parameters = chosen.descriptor.checked(choice.parameters if choice.name != AUTO else {})
        if chosen.descriptor.open is None:  # nothing is built: to keep it would be to keep the vectors twice
            return build(chosen.descriptor, vectors, parameters, progress)
        key = (vectors.key, chosen.descriptor.name, repr(parameters))
        return self._built.get(key, lambda: build(chosen.descriptor, vectors, parameters, progress))


def _own_shape(folder: RunFolder, datasets: Datasets) -> tuple[int, int]:
    """Return the channels and side of the images that a run is trained on."""
    _, channels, side, _ = datasets.load(images_of(folder)).train.images.shape
    return channels, side
