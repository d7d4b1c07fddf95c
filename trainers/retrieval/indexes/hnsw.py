"""A graph of near vectors that a search walks (Malkov and Yashunin 2018, "Efficient and robust approximate nearest
neighbor search using Hierarchical Navigable Small World graphs"), over vectors of one byte a number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainers.parameters import parameter
from trainers.progress import Progress
from trainers.retrieval.indexes._faiss_index import FaissIndex, faiss, fill, read, sample
from trainers.retrieval.indexes.base import IndexDescriptor, Size, needs_faiss
from trainers.retrieval.vectors import Vectors

MOST = 300_000
"""Vectors up to which it is built within about a minute on two cores."""
_TRAINED = 20_000  # vectors that the range of the bytes is read off
_LINK = 4  # bytes


@dataclass(frozen=True, kw_only=True)
class HnswParameters:
    links: int = parameter(
        16, low=4, high=64, help="Neighbours that each vector is linked with; twice as many at the bottom."
    )
    construction: int = parameter(80, low=8, high=1000, help="Vectors compared to find the links of each.")
    search: int = parameter(160, low=8, high=10_000, help="Vectors kept in view by a search; more find more.")


def _build(vectors: Vectors, parameters: HnswParameters, progress: Progress) -> FaissIndex:
    library = faiss()
    index = library.IndexHNSWSQ(
        vectors.dim, library.ScalarQuantizer.QT_8bit, parameters.links, library.METRIC_INNER_PRODUCT
    )
    index.hnsw.efConstruction = parameters.construction
    index.train(sample(vectors, _TRAINED))
    fill(index, vectors, progress)
    return _searched(index, parameters)


def _open(path: Path, parameters: HnswParameters) -> FaissIndex:
    return _searched(read(path), parameters)


def _searched(index: object, parameters: HnswParameters) -> FaissIndex:
    return FaissIndex(index, faiss().SearchParametersHNSW(efSearch=parameters.search))


def _bytes(size: Size) -> int:
    return size.count * (size.dim + 2 * HnswParameters().links * _LINK + 24)


def _suits(size: Size) -> str | None:
    if size.count > MOST or _bytes(size) > size.memory / 4:
        return None
    return f"A graph of {size.count:,} images takes {_bytes(size) / 1e6:,.0f} MB of memory and is searched fastest."


DESCRIPTOR = IndexDescriptor(
    name="hnsw",
    title="HNSW",
    sentence="Walks a graph of near images; approximate, fast, in memory.",
    parameters=HnswParameters,
    suits=_suits,
    build=_build,
    open=_open,
    bytes=_bytes,
    candidates=4,
    missing=needs_faiss,
    order=2,
)
