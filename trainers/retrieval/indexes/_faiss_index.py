"""The common parts of the indexes of faiss: filling them, searching them from several threads, and files of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trainers.errors import ParameterError, UserError
from trainers.progress import Progress
from trainers.retrieval.faiss_library import faiss_library
from trainers.retrieval.indexes.base import NO_FAISS
from trainers.retrieval.vectors import Vectors

TRAINED = 40
"""Vectors for each cluster that is trained; faiss itself asks for 39."""
_STEP = 8192  # vectors added between two reports


def faiss() -> Any:
    """Return the library.

    Raises:
        UserError: it is not installed.
    """
    library = faiss_library()
    if library is None:
        raise UserError(NO_FAISS)
    return library


class FaissIndex:
    """An index of faiss. A search changes nothing in it, so that threads may search at once.

    Args:
        index: of faiss.
        search_parameters: of faiss, of every search.
    """

    def __init__(self, index: Any, search_parameters: Any) -> None:
        self._index, self._parameters = index, search_parameters

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """See :class:`trainers.retrieval.indexes.base.Index`."""
        library, wanted = faiss(), min(k, self._index.ntotal)
        asked = np.ascontiguousarray(queries, np.float32)
        near, rows = np.empty((len(asked), wanted), np.float32), np.empty((len(asked), wanted), np.int64)
        # not search(): faiss.contrib.torch_utils, which other libraries import, replaces it by one without parameters
        pointers = [library.swig_ptr(array) for array in (asked, near, rows)]
        self._index.search_c(len(asked), pointers[0], wanted, pointers[1], pointers[2], self._parameters)
        return np.pad(rows, ((0, 0), (0, k - rows.shape[1])), constant_values=-1)

    def write(self, path: Path) -> None:
        """Write the index.

        Raises:
            OSError: it cannot be written.
        """
        try:
            faiss().write_index(self._index, str(path))
        except RuntimeError as error:
            raise OSError(f"the index cannot be written: {str(error)[:200]}") from error


def read(path: Path, *, mapped: bool = False) -> Any:
    """Read an index of faiss from its file; ``mapped``: its lists stay on the disk."""
    library = faiss()
    return library.read_index(str(path), library.IO_FLAG_MMAP if mapped else 0)


def sample(vectors: Vectors, most: int) -> np.ndarray:
    """Return at most ``most`` vectors, spread evenly, float32 ``[n, D]``."""
    return vectors.take(np.unique(np.linspace(0, len(vectors) - 1, min(most, len(vectors))).astype(np.int64)))


def fill(index: Any, vectors: Vectors, progress: Progress) -> None:
    """Add all vectors to a trained index; ``progress`` may raise to stop."""
    count = len(vectors)
    for first in range(0, count, _STEP):
        progress(f"building the index: {first:,} of {count:,}", first / count)
        index.add(np.ascontiguousarray(vectors.rows[first : first + _STEP], np.float32))


def ivf(vectors: Vectors, lists: int, make: Callable[[Any, int], Any], progress: Progress) -> Any:
    """Build a filled inverted-file index.

    Args:
        lists: number of clusters.
        make: gets the quantizer and the number of clusters.

    Raises:
        ParameterError: there are more clusters than vectors.
    """
    if lists > len(vectors):
        raise ParameterError(
            f"An index has at most as many lists as images, {len(vectors):,}; got {lists:,}. Leave lists out, or 0."
        )
    progress("building the index: finding clusters", 0.0)
    quantizer = faiss().IndexFlatIP(vectors.dim)
    index = make(quantizer, lists)
    index.own_fields = True
    quantizer.this.disown()
    index.cp.min_points_per_centroid = 1  # of fewer than 39 faiss writes a warning to the terminal
    index.train(sample(vectors, TRAINED * lists))
    fill(index, vectors, progress)
    return index


def list_count(count: int) -> int:
    """Return the number of clusters: about the square root of the number of vectors, with 40 vectors to train each."""
    return max(1, min(round(count**0.5), count // TRAINED))
