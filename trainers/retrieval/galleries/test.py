"""The whole test set of a run."""

from __future__ import annotations

from typing import Any

from trainers.progress import Progress
from trainers.retrieval.encoders import images_of
from trainers.retrieval.galleries.base import Datasets, Gallery, GalleryDescriptor, gallery_of
from trainers.runs import RunFolder


def _open(folder: RunFolder, _parameters: Any, datasets: Datasets, progress: Progress) -> Gallery:
    return gallery_of(DESCRIPTOR.name, "test set of {}", images_of(folder), "test", datasets, progress)


DESCRIPTOR = GalleryDescriptor(
    name="test", title="Test set", sentence="All test images of the run's dataset.", open=_open, order=2
)
