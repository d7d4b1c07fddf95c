"""The indexes: how the nearest vectors are found, and which of them for a gallery of some size.

The only module that imports faiss, when it is needed: exact search works without it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from trainers.errors import UserError
from trainers.parameters import entry, parameter
from trainers.progress import Progress
from trainers.registry import Descriptor

if TYPE_CHECKING:
    from trainers.retrieval.vectors import Vectors

AUTO = "auto"
NO_FAISS = "This index needs the faiss library: pip install faiss-cpu"
FLAT_NUMBERS = 2**24
"""Numbers of a gallery up to which an exact search takes some milliseconds."""
HNSW_VECTORS = 300_000
"""Vectors up to which a graph is built within about a minute on two cores."""
_STEP = 8192  # vectors added between two reports
_RANGE = 20_000  # vectors that the range of the bytes of a graph is read off
_LINK = 4  # bytes of a link of a graph


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size that an index is chosen by.

    Attributes:
        count, dim: N vectors of D numbers.
        memory: bytes that an index may take.
    """

    count: int
    dim: int
    memory: int


class Index(Protocol):
    """An index that was built."""

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """Return the rows nearest to unit queries float32 ``[Q, D]``: int64 ``[Q, k]``, -1 where none is left."""

    def write(self, path: Path) -> None:
        """Write the index to a file.

        Raises:
            OSError: it cannot be written.
        """


@dataclass(frozen=True, kw_only=True)
class IndexDescriptor(Descriptor):
    """One entry of the registry of indexes.

    Attributes:
        exact: it finds the nearest vectors themselves.
        suits: why it is chosen for a size, a sentence; None: it is not.
        build: makes it from vectors, checked parameters and a progress function that may raise to stop.
        open: reads the file that the index wrote, with checked parameters; None: it is not kept.
        bytes: of an index of a size in memory; 0: nothing is held.
        candidates: how many rows are compared exactly for each result that is wanted.
    """

    exact: bool = False
    suits: Callable[[Size], str | None]
    build: Callable[[Vectors, Any, Progress], Index]
    open: Callable[[Path, Any], Index] | None = None
    bytes: Callable[[Size], int] = lambda _size: 0
    candidates: int = 1


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """An index and one sentence that says why it was chosen."""

    descriptor: IndexDescriptor
    reason: str


def choose(entries: Mapping[str, IndexDescriptor], size: Size, name: str = AUTO) -> Chosen:
    """Choose the first index that suits a size, or the one asked for.

    Args:
        entries: the registry.
        name: of an index; ``auto``: by size.

    Raises:
        UserError: there is no such index, or it cannot be used here.
    """
    if name != AUTO:
        descriptor = entry(entries, name, "index")
        lacking = descriptor.lacking()
        if lacking is not None:
            raise UserError(lacking)
        return Chosen(descriptor=descriptor, reason="It was asked for.")
    usable = [candidate for candidate in entries.values() if candidate.lacking() is None]
    for descriptor in usable:
        reason = descriptor.suits(size)
        if reason is not None:
            return Chosen(descriptor=descriptor, reason=reason)
    exact = next(candidate for candidate in usable if candidate.exact)
    why = "they are too many for a graph in memory" if len(usable) > 1 else "faiss is not installed"
    return Chosen(descriptor=exact, reason=f"{size.count:,} images are compared one by one: {why}.")


# ------------------------------------------------------------------- exact


@dataclass(frozen=True)
class Flat:
    """Exact search; equal similarities by row."""

    vectors: Vectors

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """See :class:`Index`."""
        best = np.full((len(queries), 0), -np.inf, np.float32)
        rows = np.zeros((len(queries), 0), np.int64)
        for first, block in self.vectors.blocks():
            products = queries @ block.T
            numbers = np.broadcast_to(np.arange(first, first + len(block)), products.shape)
            best, rows = _best(np.hstack([best, products]), np.hstack([rows, numbers]), k)
        return np.pad(rows, ((0, 0), (0, k - rows.shape[1])), constant_values=-1)

    def write(self, path: Path) -> None:
        """Write nothing: nothing is kept."""


def _best(similarity: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` largest of each line with their rows, the largest first, equal ones by row."""
    if similarity.shape[1] > 2 * k:
        edge = np.partition(similarity, -k, axis=1)[:, -k:].min(axis=1, keepdims=True)
        keep = max(k, int((similarity >= edge).sum(axis=1).max()))
        chosen = np.argpartition(-similarity, keep - 1, axis=1)[:, :keep]
        similarity, rows = (np.take_along_axis(table, chosen, axis=1) for table in (similarity, rows))
    order = np.lexsort((rows, -similarity), axis=-1)[:, :k]
    return np.take_along_axis(similarity, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _suits_flat(size: Size) -> str | None:
    if size.count * size.dim > FLAT_NUMBERS:
        return None
    return f"{size.count:,} images are few enough to be compared one by one."


# ---------------------------------------------------------------- of faiss


@lru_cache(maxsize=1)
def faiss_library() -> ModuleType | None:
    """Return faiss, or None where it is not installed."""
    import torch  # noqa: F401  (on macOS torch and faiss each bring an OpenMP: torch's must load first)

    try:
        with warnings.catch_warnings():
            # before 1.15: as an error, which a filter of the caller may make of it, it ends the process
            warnings.filterwarnings("ignore", message="builtin type .* has no __module__", category=DeprecationWarning)
            import faiss
    except ImportError:
        return None
    if sys.platform == "darwin":
        faiss.omp_set_num_threads(1)  # and faiss's must stay single
    return faiss


def faiss() -> Any:
    """Return the library.

    Raises:
        UserError: it is not installed.
    """
    library = faiss_library()
    if library is None:
        raise UserError(NO_FAISS)
    return library


def needs_faiss(_parameters: Any) -> str | None:
    """Return why indexes of faiss cannot be used here; None: they can."""
    return NO_FAISS if faiss_library() is None else None


class FaissIndex:
    """An index of faiss. A search changes nothing in it, so that threads may search at once.

    Args:
        index: of faiss.
        search_parameters: of faiss, of every search.
    """

    def __init__(self, index: Any, search_parameters: Any) -> None:
        self._index, self._parameters = index, search_parameters

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """See :class:`Index`."""
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


def sample(vectors: Vectors, most: int) -> np.ndarray:
    """Return at most ``most`` vectors, spread evenly, float32 ``[n, D]``."""
    return vectors.take(np.unique(np.linspace(0, len(vectors) - 1, min(most, len(vectors))).astype(np.int64)))


def fill(index: Any, vectors: Vectors, progress: Progress) -> None:
    """Add all vectors to a trained index; ``progress`` may raise to stop."""
    count = len(vectors)
    for first in range(0, count, _STEP):
        progress(f"building the index: {first:,} of {count:,}", first / count)
        index.add(np.ascontiguousarray(vectors.rows[first : first + _STEP], np.float32))


# -------------------------------------------------------------------- HNSW


@dataclass(frozen=True, kw_only=True)
class HnswParameters:
    links: int = parameter(
        16, low=4, high=64, help="Neighbours that each vector is linked with; twice as many at the bottom."
    )
    construction: int = parameter(80, low=8, high=1000, help="Vectors compared to find the links of each.")
    search: int = parameter(160, low=8, high=10_000, help="Vectors kept in view by a search; more find more.")


def _build_hnsw(vectors: Vectors, parameters: HnswParameters, progress: Progress) -> FaissIndex:
    """Build a graph of near vectors that a search walks (Malkov and Yashunin 2018, "Efficient and robust approximate
    nearest neighbor search using Hierarchical Navigable Small World graphs"), over vectors of one byte a number.
    """
    library = faiss()
    index = library.IndexHNSWSQ(
        vectors.dim, library.ScalarQuantizer.QT_8bit, parameters.links, library.METRIC_INNER_PRODUCT
    )
    index.hnsw.efConstruction = parameters.construction
    index.train(sample(vectors, _RANGE))
    fill(index, vectors, progress)
    return _searched_hnsw(index, parameters)


def _open_hnsw(path: Path, parameters: HnswParameters) -> FaissIndex:
    return _searched_hnsw(faiss().read_index(str(path)), parameters)


def _searched_hnsw(index: object, parameters: HnswParameters) -> FaissIndex:
    return FaissIndex(index, faiss().SearchParametersHNSW(efSearch=parameters.search))


def _bytes_hnsw(size: Size) -> int:
    return size.count * (size.dim + 2 * HnswParameters().links * _LINK + 24)


def _suits_hnsw(size: Size) -> str | None:
    needed = _bytes_hnsw(size)
    if size.count > HNSW_VECTORS or needed > size.memory / 4:
        return None
    return f"A graph of {size.count:,} images takes {needed / 1e6:,.0f} MB of memory and is searched fastest."


_ALL = (
    IndexDescriptor(
        name="flat",
        title="Flat",
        sentence="Compares the query with every image: exact.",
        exact=True,
        suits=_suits_flat,
        build=lambda vectors, _parameters, _progress: Flat(vectors),
    ),
    IndexDescriptor(
        name="hnsw",
        title="HNSW",
        sentence="Walks a graph of near images; approximate, fast, in memory.",
        parameters=HnswParameters,
        suits=_suits_hnsw,
        build=_build_hnsw,
        open=_open_hnsw,
        bytes=_bytes_hnsw,
        candidates=4,
        missing=needs_faiss,
    ),
)
INDEXES: Mapping[str, IndexDescriptor] = MappingProxyType({descriptor.name: descriptor for descriptor in _ALL})
"""Those that are tried first for a size at the beginning."""
