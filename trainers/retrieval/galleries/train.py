"""The training set of a run."""

from __future__ import annotations

from typing import Any

from trainers.progress import Progress
from trainers.retrieval.encoders import images_of
from trainers.retrieval.galleries.base import Datasets, Gallery, GalleryDescriptor, gallery_of
from trainers.runs import RunFolder


def _open(folder: RunFolder, _parameters: Any, datasets: Datasets, progress: Progress) -> Gallery:
    return gallery_of(DESCRIPTOR.name, "training set of {}", images_of(folder), "train", datasets, progress)


DESCRIPTOR = GalleryDescriptor(
    name="train", title="Training set", sentence="All images that the run is trained on.", open=_open, order=3
)
