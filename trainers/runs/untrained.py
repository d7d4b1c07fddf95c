"""What a run keeps of its images without training: the record, and its tensors with JSON beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trainers.runs import checked
from trainers.runs.atomic_files import as_tensor

if TYPE_CHECKING:
    from torch import Tensor

JUDGED = ("R_at_1", "AP_at_R")
"""Metrics that are kept query by query, by which a run is judged."""


@dataclass(frozen=True, kw_only=True)
class UntrainedRow:
    """What one way finds without training.

    Attributes:
        name: of the entry; ``title``, ``sentence``: in words.
        numbers: by key as those of a loss: of the images on the maps, and behind ``test/`` of the test images.
        values: float32 numpy array ``[M, T]``, :data:`JUDGED` of each test image, NaN where undefined.
        neighbours: int32 numpy array ``[P, K]``, the nearest images on the map of each, nearest first; of training
            images on the maps ``[0, 0]``.
    """

    name: str
    title: str
    sentence: str
    numbers: Mapping[str, float]
    values: Any
    neighbours: Any


@dataclass(frozen=True, kw_only=True)
class Untrained:
    """The rows without training of a run, and its own results on the same images.

    Attributes:
        rows: in order.
        lacking: why other entries have no row, by name.
        images: int64 numpy array ``[T]``, rows of the test images that are scored, ascending.
        labels: int32 numpy array ``[T]``, their finest classes.
        total: images of the test set; more than T: an even choice is scored.
        classes: that the run trains on.
        arms: float32 numpy array ``[A, M, T]``, the same of each arm at the end; A is 0 before.
        before, after: float32 numpy arrays ``[A, M, P]``, those of the images on the maps at step 0 and at the end; A
            is 0 where they are not known.
    """

    rows: tuple[UntrainedRow, ...]
    lacking: Mapping[str, str] = field(default_factory=dict)
    images: Any
    labels: Any
    total: int
    classes: int
    arms: Any = field(default_factory=lambda: np.zeros((0, len(JUDGED), 0), np.float32))
    before: Any = field(default_factory=lambda: np.zeros((0, len(JUDGED), 0), np.float32))
    after: Any = field(default_factory=lambda: np.zeros((0, len(JUDGED), 0), np.float32))

    def row(self, name: str) -> UntrainedRow | None:
        """Return the row of an entry; None: there is none."""
        return next((row for row in self.rows if row.name == name), None)


_OF_ARMS = ("arms", "before", "after")


def packed_untrained(record: Untrained) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Pack a record into tensors and metadata."""
    about = {
        "rows": [
            {"name": row.name, "title": row.title, "sentence": row.sentence, "numbers": dict(row.numbers)}
            for row in record.rows
        ],
        "lacking": dict(record.lacking),
        "total": record.total,
        "classes": record.classes,
    }
    tensors = {"images": as_tensor(record.images, np.int64), "labels": as_tensor(record.labels, np.int32)}
    tensors |= {name: as_tensor(getattr(record, name), np.float32) for name in _OF_ARMS}
    for number, row in enumerate(record.rows):
        tensors[f"values{number}"] = as_tensor(row.values, np.float32)
        tensors[f"neighbours{number}"] = as_tensor(row.neighbours, np.int32)
    return tensors, {"about": json.dumps(about)}


def unpacked_untrained(tensors: Mapping[str, Tensor], metadata: Mapping[str, str], arms: int) -> Untrained:
    """Unpack the record that :func:`packed_untrained` was given.

    Raises:
        ValueError, KeyError, TypeError: something is missing, or of the wrong type or shape.
    """
    about = checked.json_object(metadata["about"], "rows without training")
    rows = tuple(
        UntrainedRow(
            name=checked.text(row["name"], "name"),
            title=checked.text(row["title"], "title"),
            sentence=checked.text(row["sentence"], "sentence"),
            numbers={key: checked.real(value, key) for key, value in row["numbers"].items()},
            values=tensors[f"values{number}"].numpy(),
            neighbours=tensors[f"neighbours{number}"].numpy(),
        )
        for number, row in enumerate(about["rows"])
    )
    record = Untrained(
        rows=rows,
        lacking={name: checked.text(why, name) for name, why in about["lacking"].items()},
        images=tensors["images"].numpy(),
        labels=tensors["labels"].numpy(),
        total=checked.whole(about["total"], "total"),
        classes=checked.whole(about["classes"], "classes"),
        **{name: tensors[name].numpy() for name in _OF_ARMS},
    )
    _check(record, arms)
    return record


def _check(record: Untrained, arms: int) -> None:
    count, metrics = record.images.size, len(JUDGED)
    if record.images.dtype != np.int64 or record.images.shape != (count,) or record.labels.shape != (count,):
        raise ValueError("the rows without training are of the wrong type or shape")
    if count and (record.images[0] < 0 or record.images[-1] >= record.total or (np.diff(record.images) <= 0).any()):
        raise ValueError("the rows without training are not of images of the test set")
    for name in _OF_ARMS:
        values = getattr(record, name)
        wide = count if name == "arms" else record.before.shape[-1]
        if values.dtype != np.float32 or values.shape not in ((arms, metrics, wide), (0, metrics, values.shape[-1])):
            raise ValueError(f"{name} of the rows without training has the wrong shape")
    for row in record.rows:
        near = row.neighbours
        if row.values.dtype != np.float32 or row.values.shape != (metrics, count):
            raise ValueError(f"the results of {row.name} have the wrong type or shape")
        if near.dtype != np.int32 or near.ndim != 2 or (near.size and not 0 <= near.min() <= near.max() < len(near)):
            raise ValueError(f"the neighbours of {row.name} are not images on the map")
