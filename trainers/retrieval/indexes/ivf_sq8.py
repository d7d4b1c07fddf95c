"""Clusters of vectors of one byte a number, of which the nearest are read from disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainers.parameters import parameter
from trainers.progress import Progress
from trainers.retrieval.indexes._faiss_index import FaissIndex, faiss, ivf, list_count, read
from trainers.retrieval.indexes.base import IndexDescriptor, Size, needs_faiss
from trainers.retrieval.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class IvfParameters:
    lists: int = parameter(0, low=0, high=262_144, help="Clusters; 0: the square root of the number of images.")
    search: int = parameter(32, low=1, high=10_000, help="Clusters that a search looks into; more find more.")


def _build(vectors: Vectors, parameters: IvfParameters, progress: Progress) -> FaissIndex:
    library = faiss()

    def make(quantizer: object, lists: int) -> object:
        return library.IndexIVFScalarQuantizer(
            quantizer, vectors.dim, lists, library.ScalarQuantizer.QT_8bit, library.METRIC_INNER_PRODUCT
        )

    lists = parameters.lists or list_count(len(vectors))
    return _searched(ivf(vectors, lists, make, progress), parameters)


def _open(path: Path, parameters: IvfParameters) -> FaissIndex:
    return _searched(read(path, mapped=True), parameters)


def _searched(index: object, parameters: IvfParameters) -> FaissIndex:
    return FaissIndex(index, faiss().SearchParametersIVF(nprobe=parameters.search))


def _suits(size: Size) -> str | None:
    if size.count * size.dim > size.memory:
        return None
    return f"{size.count:,} images are too many for a graph in memory, so clusters of them are read from disk."


DESCRIPTOR = IndexDescriptor(
    name="ivf_sq8",
    title="IVF with SQ8",
    sentence="Reads the nearest clusters of images from disk, one byte a number; approximate, little memory.",
    parameters=IvfParameters,
    suits=_suits,
    build=_build,
    open=_open,
    candidates=4,
    missing=needs_faiss,
    order=3,
)
