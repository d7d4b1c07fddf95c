"""Another dataset: of the catalogue, a folder or of the Hub."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.config import DataChoice
from trainers.data.source_check import check_source
from trainers.parameters import parameter
from trainers.progress import Progress
from trainers.retrieval.galleries.base import Datasets, Gallery, GalleryDescriptor, gallery_of
from trainers.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class DatasetParameters:
    source: str = parameter(
        "drawn", main=True, title="Dataset", help="A dataset of the catalogue, a folder or a Hub id."
    )
    part: str = parameter("test", choices=("test", "train"), help="Which of its two parts.")
    held_out: str = parameter(
        "classes", choices=("classes", "images"), help="What its test part holds: classes of its own, or images."
    )
    max_images: int = parameter(20_000, low=4, high=1_000_000, help="Most images read of each part.")


def _open(_folder: RunFolder, parameters: DatasetParameters, datasets: Datasets, progress: Progress) -> Gallery:
    check_source(parameters.source)
    choice = DataChoice(source=parameters.source, held_out=parameters.held_out, max_images=parameters.max_images)
    words = {"test": "test set of {}", "train": "training set of {}"}
    return gallery_of(DESCRIPTOR.name, words[parameters.part], choice, parameters.part, datasets, progress)


DESCRIPTOR = GalleryDescriptor(
    name="dataset",
    title="Another dataset",
    sentence="Images that the runs were not trained on.",
    parameters=DatasetParameters,
    open=_open,
    order=4,
)
