"""Galleries: the probe, the test set and the training set of a run, and another dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.config import DataChoice
from trainers.data.source_check import check_source
from trainers.errors import UserError
from trainers.parameters import parameter
from trainers.progress import Progress
from trainers.retrieval.encoders import StoredImages, images_of
from trainers.retrieval.galleries.base import Datasets, Gallery, GalleryDescriptor, gallery_of
from trainers.retrieval.probe_results import roles_of
from trainers.runs import RunFolder
from trainers.runs.records import PARTS


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
    return gallery_of(DATASET.name, words[parameters.part], choice, parameters.part, datasets, progress)


DATASET = GalleryDescriptor(
    name="dataset",
    title="Another dataset",
    sentence="Images that the runs were not trained on.",
    parameters=DatasetParameters,
    open=_open,
    order=4,
)


def _probe(folder: RunFolder, _parameters: Any, datasets: Datasets, _progress: Progress) -> Gallery:
    """Open the images on the maps; labels come from the run folder, so that the dataset may be gone."""
    choice, probe = images_of(folder), folder.probe()
    if probe is None:
        raise UserError(f"Run {folder.id} has no images yet; they are there once its dataset is read.")
    return Gallery(
        name=PROBE.name,
        title=f"{len(probe.rows):,} {PARTS[probe.part]} of {probe.data_title} on the maps",
        choice=choice,
        part=probe.part,
        rows=np.asarray(probe.rows, np.int64),
        labels=np.asarray(probe.labels, np.int64),
        hierarchy=probe.hierarchy,
        labelled=any(len(names) > 1 for names in probe.hierarchy.names),
        notes=probe.notes,
        roles=roles_of(probe),
        datasets=datasets,
    )


PROBE = GalleryDescriptor(
    name="probe",
    title="Images on the maps",
    sentence="Every step that has a map can be searched.",
    open=_probe,
    order=1,
)


def _test(folder: RunFolder, _parameters: Any, datasets: Datasets, progress: Progress) -> Gallery:
    images = images_of(folder)
    if isinstance(images, StoredImages):
        return _probe(folder, None, datasets, progress)
    return gallery_of(TEST.name, "test set of {}", images, "test", datasets, progress)


TEST = GalleryDescriptor(
    name="test", title="Test set", sentence="All test images of the run's dataset.", open=_test, order=2
)


def _train(folder: RunFolder, _parameters: Any, datasets: Datasets, progress: Progress) -> Gallery:
    return gallery_of(TRAIN.name, "training set of {}", images_of(folder), "train", datasets, progress)


TRAIN = GalleryDescriptor(
    name="train", title="Training set", sentence="All images that the run is trained on.", open=_train, order=3
)


DESCRIPTORS = (PROBE, TEST, TRAIN, DATASET)
