"""The probe: the images that the maps show, whose embeddings are stored with every frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from trainers.errors import UserError
from trainers.progress import Progress
from trainers.retrieval.encoders import images_of
from trainers.retrieval.galleries.base import Datasets, Gallery, GalleryDescriptor
from trainers.retrieval.probe_results import roles_of
from trainers.runs import RunFolder
from trainers.runs.records import PARTS


def _open(folder: RunFolder, _parameters: Any, datasets: Datasets, _progress: Progress) -> Gallery:
    """Open the images on the maps; labels come from the run folder, so that the dataset may be gone."""
    choice, probe = images_of(folder), folder.probe()
    if probe is None:
        raise UserError(f"Run {folder.id} has no images yet; they are there once its dataset is read.")
    return Gallery(
        name=DESCRIPTOR.name,
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


DESCRIPTOR = GalleryDescriptor(
    name="probe",
    title="Images on the maps",
    sentence="Every step that has a map can be searched.",
    open=_open,
    order=1,
)
