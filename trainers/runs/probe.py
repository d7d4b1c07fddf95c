"""The probe of a run and the metrics of every query, as tensors with JSON beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trainers.hierarchy import Hierarchy
from trainers.runs import checked
from trainers.runs.atomic_files import as_tensor
from trainers.runs.records import PARTS, Attribute, Probe, QueryScores

if TYPE_CHECKING:
    from torch import Tensor


_OF_ATTRIBUTE = ("ringed", "level")  # what an attribute may have beside names and values


def packed(probe: Probe, sheets: int) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Pack a probe with so many thumbnail sheets into tensors and metadata."""
    about = {
        "levels": probe.hierarchy.levels,
        "names": probe.hierarchy.names,
        "data_title": probe.data_title,
        "notes": probe.notes,
        "fingerprint": probe.fingerprint,
        "tile": probe.tile,
        "columns": probe.columns,
        "sheets": sheets,
    }
    tensors = {"labels": as_tensor(probe.labels, np.int32), "rows": as_tensor(probe.rows, np.int64)}
    if probe.attributes:
        about["attributes"] = [
            {
                name: getattr(attribute, name)
                for name in ("name", "names", *_OF_ATTRIBUTE)
                if getattr(attribute, name) is not None
            }
            for attribute in probe.attributes
        ]
        tensors |= {
            f"attribute{i}": as_tensor(attribute.values, np.int32) for i, attribute in enumerate(probe.attributes)
        }
    if probe.part != Probe.part:
        about["part"] = probe.part
    if probe.files:
        about["files"] = probe.files
    return tensors, {"about": json.dumps(about)}


def unpacked(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> Probe:
    """Unpack the probe that :func:`packed` was given.

    Raises:
        ValueError, KeyError: something is missing, or of the wrong type or shape.
    """
    about = checked.json_object(metadata["about"], "probe")
    names = about["names"]
    if not isinstance(names, list):
        raise ValueError("probe needs lists of names")
    hierarchy = Hierarchy(
        levels=checked.texts(about["levels"], "levels"),
        names=tuple(checked.texts(level, "names") for level in names),
    )
    probe = Probe(
        labels=tensors["labels"].numpy(),
        rows=tensors["rows"].numpy(),
        hierarchy=hierarchy,
        data_title=checked.text(about["data_title"], "title"),
        notes=checked.texts(about["notes"], "notes"),
        fingerprint=checked.text(about.get("fingerprint", ""), "fingerprint"),
        tile=checked.whole(about["tile"], "tile", 1),
        columns=checked.whole(about["columns"], "columns", 1),
        sheets=checked.whole(about["sheets"], "sheets"),
        attributes=tuple(
            Attribute(
                name=checked.text(attribute["name"], "attribute"),
                names=checked.texts(attribute["names"], "attribute"),
                values=tensors[f"attribute{i}"].numpy(),
                **{name: checked.whole(attribute[name], name) for name in _OF_ATTRIBUTE if name in attribute},
            )
            for i, attribute in enumerate(about.get("attributes", ()))
        ),
        part=checked.text(about.get("part", Probe.part), "part"),
        files=checked.texts(about.get("files", []), "files"),
    )
    _check(probe)
    return probe


def _check(probe: Probe) -> None:
    labels, tree = probe.labels, probe.hierarchy
    shaped = (
        labels.ndim == 2 and labels.shape[1] == tree.depth == len(tree.names) and probe.rows.shape == labels.shape[:1]
    )
    if not shaped or labels.dtype.kind != "i" or probe.rows.dtype.kind != "i" or not labels.size:
        raise ValueError("the labels of the probe have the wrong shape")
    if labels.min() < 0 or (labels.max(0) >= [len(names) for names in tree.names]).any() or probe.rows.min() < 0:
        raise ValueError("the probe has labels without a name")
    if len(probe.files) not in (0, len(labels)):
        raise ValueError("the probe has another number of files than images")
    if probe.part not in PARTS:
        raise ValueError("the probe is of no part of the dataset")
    for attribute in probe.attributes:
        if attribute.level is not None and (
            attribute.level >= tree.depth or attribute.names != tree.names[attribute.level]
        ):
            raise ValueError("an attribute of the probe has classes of no level")
        if attribute.values.shape != labels.shape[:1] or attribute.values.dtype.kind != "i":
            raise ValueError("an attribute of the probe has the wrong shape")
        if attribute.values.min() < 0 or attribute.values.max() >= len(attribute.names):
            raise ValueError("the probe has attributes without a name")
    if probe.sheets and probe.sheets * probe.columns**2 < len(labels):
        raise ValueError("the probe has more points than thumbnails")


MOST = 200_000
"""Queries that are kept: with ten metrics, 8 MB an arm."""


def kept_queries(count: int) -> np.ndarray:
    """Return rows of the queries that are kept of a test set of ``count`` images: all, or :data:`MOST` drawn at random.

    Returns:
        int64 ``[Q]``, ascending; the same for the same count.
    """
    if count <= MOST:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST, replace=False))


def packed_scores(scores: QueryScores) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Pack a record into tensors and metadata."""
    about = {"metrics": scores.metrics, "images": scores.images, "fingerprint": scores.fingerprint}
    tensors = {
        "values": as_tensor(scores.values, np.float32),
        "labels": as_tensor(scores.labels, np.int32),
        "rows": as_tensor(scores.rows, np.int64),
    }
    return tensors, {"about": json.dumps(about)}


def unpacked_scores(tensors: Mapping[str, Tensor], metadata: Mapping[str, str], arms: int) -> QueryScores:
    """Unpack the record that :func:`packed_scores` was given.

    Raises:
        ValueError, KeyError: something is missing, or of the wrong type or shape.
    """
    about = checked.json_object(metadata["about"], "results per query")
    scores = QueryScores(
        metrics=checked.texts(about["metrics"], "metrics"),
        values=tensors["values"].numpy(),
        labels=tensors["labels"].numpy(),
        rows=tensors["rows"].numpy(),
        images=checked.whole(about["images"], "images"),
        fingerprint=checked.text(about["fingerprint"], "fingerprint"),
    )
    _check_scores(scores, arms)
    return scores


def _check_scores(scores: QueryScores, arms: int) -> None:
    count, metrics = scores.rows.size, len(scores.metrics)
    if scores.values.dtype != np.float32 or scores.labels.dtype != np.int32 or scores.rows.dtype != np.int64:
        raise ValueError("the results per query are of the wrong type")
    shapes = (scores.values.shape, scores.labels.shape, scores.rows.shape)
    if shapes != ((arms, metrics, count), (count,), (count,)) or len(set(scores.metrics)) != metrics:
        raise ValueError("the results per query have the wrong shape")
    if count and (scores.rows[0] < 0 or scores.rows[-1] >= scores.images or (np.diff(scores.rows) <= 0).any()):
        raise ValueError("the results per query are not of rows of the test set")
