"""The images of the probe that two runs share."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.config import Config, DataChoice, SceneChoice
from trainers.errors import UserError
from trainers.retrieval.probe_results import probe_of
from trainers.runs.reader import RunReader
from trainers.runs.records import PARTS, Probe

_NO_ROWS = ("image_size", "image_column", "label_columns")
"""Settings of a dataset that do not decide which image is in which row of a part of it."""


@dataclass(frozen=True, kw_only=True)
class SharedImages:
    """The images that two probes share.

    Attributes:
        rows: int64 ``[n]``, their rows in the part of the dataset that the maps show, ascending.
        first, second: int64 ``[n]``, their points in each probe.
        whole: both probes are these images and no other.
    """

    rows: np.ndarray
    first: np.ndarray
    second: np.ndarray
    whole: bool


def shared_images(first: RunReader, second: RunReader) -> SharedImages:
    """Return the images that the probes of two runs share, by their rows in the dataset.

    Runs are on the same images if the fingerprints of their datasets are equal. Where one is not stored, or the images
    were read at another size, the settings that decide which image is in which row must be equal, and the class names
    and labels too.

    Raises:
        UserError: they are not on the same images; the sentence says why.
        RunError: a run is damaged, or has no probe with labels.
    """
    probe, other = probe_of(first), probe_of(second)
    rows, a, b = np.intersect1d(probe.rows, other.rows, return_indices=True)
    reason = _difference(first, second, probe, other)
    if not reason and not len(rows):
        reason = "their maps show no image in common"
    if not reason and (probe.labels[a] != other.labels[b]).any():
        reason = "the same rows have other labels"
    if reason:
        raise UserError(f"The runs {first.id} and {second.id} are not on the same images: {reason}.")
    return SharedImages(rows=rows, first=a, second=b, whole=len(rows) == len(probe.rows) == len(other.rows))


def _difference(first: RunReader, second: RunReader, probe: Probe, other: Probe) -> str:
    """Say why the datasets are not the same; empty if they are."""
    if probe.part != other.part:
        return f"the maps of one show {PARTS[probe.part]}, and those of the other {PARTS[other.part]}"
    if probe.fingerprint and probe.fingerprint == other.fingerprint:
        return ""
    if probe.hierarchy != other.hierarchy:
        return f"their classes differ ({probe.data_title} and {other.data_title})"
    data, beside = _choice(first.config, probe.part), _choice(second.config, probe.part)
    if data.keys() != beside.keys():
        return "they read them in different ways"
    for name in sorted(data.keys() - set(_NO_ROWS)):
        if data[name] != beside[name]:
            return f"the setting {name} is {data[name]} in one and {beside[name]} in the other"
    if probe.fingerprint and other.fingerprint and data.get("image_size") == beside.get("image_size"):
        return "their dataset has changed between them"
    return ""


def _choice(config: Config, part: str) -> dict[str, Any]:
    """Return the settings that name the images of a part of a run's dataset, whatever its kind calls them."""
    chosen = [value for value in vars(config).values() if isinstance(value, (DataChoice, SceneChoice))]
    settings = {name: value for choice in chosen for name, value in vars(choice).items()}
    conditions = settings.pop("conditions", None)
    return settings | ({} if conditions is None else dataclasses.asdict(conditions.that_choose(part)))
