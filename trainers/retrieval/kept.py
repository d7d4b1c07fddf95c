"""What searches keep between queries: galleries, encoders, embeddings of galleries and indexes."""

from __future__ import annotations

import threading

import numpy as np
from torch import Tensor

from trainers.data import settings
from trainers.data.lru_cache import Cache
from trainers.errors import UserError
from trainers.parameters import Choice, entry
from trainers.progress import Progress, silent
from trainers.retrieval.built import Built, build
from trainers.retrieval.comparison import Comparison
from trainers.retrieval.encoders import images_of, read_encoder
from trainers.retrieval.galleries import GALLERIES, Datasets, Gallery
from trainers.retrieval.indexes import Chosen
from trainers.retrieval.results import RunArm
from trainers.retrieval.search_settings import AUTO
from trainers.retrieval.vectors import Vectors, gallery_vectors
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.training.embedding import ImageEncoder

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
        self._comparisons: Cache[Comparison] = Cache(
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

    def comparison(self, vectors: Vectors) -> Comparison:
        """Return what compares queries with stored embeddings."""
        return self._comparisons.get(vectors.key, lambda: Comparison(vectors))

    def compared(self, encoder: ImageEncoder, gallery: Gallery, progress: Progress) -> Comparison:
        """Return what compares queries with the images of a gallery, which are embedded for the first of them."""
        key = (encoder.digest, gallery.origin, gallery.choice, gallery.rows.tobytes())
        return self._comparisons.get(key, lambda: Comparison(gallery_vectors(encoder, gallery, progress)))

    def index(self, vectors: Vectors, chosen: Chosen, choice: Choice, progress: Progress) -> Built:
        """Return the index of the embeddings of a gallery, built for the first search; ``choice``: as asked for."""
        parameters = chosen.descriptor.checked(choice.parameters if choice.name != AUTO.name else {})
        if chosen.descriptor.open is None:  # nothing is built: to keep it would be to keep the vectors twice
            return build(chosen.descriptor, vectors, parameters, progress)
        key = (vectors.key, chosen.descriptor.name, repr(parameters))
        return self._built.get(key, lambda: build(chosen.descriptor, vectors, parameters, progress))


def _own_shape(folder: RunFolder, datasets: Datasets) -> tuple[int, int]:
    """Return the channels and side of the images that a run is trained on."""
    _, channels, side, _ = datasets.load(images_of(folder)).train.images.shape
    return channels, side
