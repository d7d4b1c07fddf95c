"""Clusters of vectors of one bit a number (Gao and Long 2024, "RaBitQ: Quantizing High-Dimensional Vectors with a
Theoretical Error Bound for Approximate Nearest Neighbor Search"); what is found is compared exactly."""

from __future__ import annotations

from pathlib import Path

from trainers.progress import Progress
from trainers.retrieval.indexes._faiss_index import FaissIndex, faiss, ivf, list_count, read
from trainers.retrieval.indexes.base import IndexDescriptor, Size, needs_faiss
from trainers.retrieval.indexes.ivf_sq8 import IvfParameters
from trainers.retrieval.vectors import Vectors


def _build(vectors: Vectors, parameters: IvfParameters, progress: Progress) -> FaissIndex:
    library = faiss()

    def make(quantizer: object, lists: int) -> object:
        return library.IndexIVFRaBitQ(quantizer, vectors.dim, lists, library.METRIC_INNER_PRODUCT)

    lists = parameters.lists or list_count(len(vectors))
    return _searched(ivf(vectors, lists, make, progress), parameters)


def _open(path: Path, parameters: IvfParameters) -> FaissIndex:
    return _searched(read(path, mapped=True), parameters)


def _searched(index: object, parameters: IvfParameters) -> FaissIndex:
    return FaissIndex(index, faiss().IVFRaBitQSearchParameters(nprobe=parameters.search))


def _suits(size: Size) -> str | None:
    return f"{size.count:,} images of {size.dim} numbers do not fit into memory, so one bit of each is searched."


DESCRIPTOR = IndexDescriptor(
    name="ivf_rabitq",
    title="IVF with RaBitQ",
    sentence="Reads the nearest clusters of images from disk, one bit a number, and compares many exactly.",
    parameters=IvfParameters,
    suits=_suits,
    build=_build,
    open=_open,
    candidates=20,
    missing=needs_faiss,
    order=4,
)
