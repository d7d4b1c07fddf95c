"""The interface of an index, and its descriptor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trainers.progress import Progress
from trainers.registry import Descriptor
from trainers.retrieval.faiss_library import faiss_library
from trainers.retrieval.vectors import Vectors

NO_FAISS = "This index needs the faiss library: pip install faiss-cpu"


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
        bytes: of an index of a size in memory; 0: nothing is held, or it is read from disk as it is searched.
        candidates: how many rows are compared exactly for each result that is wanted.
    """

    exact: bool = False
    suits: Callable[[Size], str | None]
    build: Callable[[Vectors, Any, Progress], Index]
    open: Callable[[Path, Any], Index] | None = None
    bytes: Callable[[Size], int] = lambda _size: 0
    candidates: int = 1


def needs_faiss(_parameters: Any) -> str | None:
    """Return why indexes of faiss cannot be used here; None: they can."""
    return NO_FAISS if faiss_library() is None else None
