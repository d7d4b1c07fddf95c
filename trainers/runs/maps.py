"""Embeddings and maps of the probe: the files in ``emb`` and ``layout``, and the rows of the maps in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trainers.runs import checked
from trainers.runs.files import as_tensor
from trainers.runs.records import Frame, FrameArm

if TYPE_CHECKING:
    from torch import Tensor


class FrameRow(NamedTuple):
    """The database's row of one arm's map; None stands for a number that is none."""

    step: int
    seconds: float
    limit: float
    quality: float | None
    drift: float | None
    method: str


def frame_row(step: object, seconds: object, limit: object, quality: object, drift: object, method: object) -> FrameRow:
    """Check the values of a row of the database.

    Raises:
        ValueError: a value is of the wrong type.
    """
    if checked.real(limit, "limit") <= 0:
        raise ValueError(f"limit needs a number above 0; got {checked.shown(limit)}")
    return FrameRow(
        checked.whole(step, "step"),
        checked.real(seconds, "seconds"),
        checked.real(limit, "limit"),
        checked.measured(quality, "quality"),
        checked.measured(drift, "drift"),
        checked.text(method, "method"),
    )


def packed_frame(frame: Frame) -> dict[str, Tensor]:
    """Pack a frame into tensors."""
    tensors: dict[str, Tensor] = {}
    for i, arm in enumerate(frame.arms):
        tensors[f"xy{i}"] = as_tensor(arm.xy, np.uint16)
        tensors[f"nn{i}"] = as_tensor(arm.neighbours, np.uint16 if len(arm.xy) < 65536 else np.int32)
    return tensors


def unpacked_frame(
    k: int, rows: Sequence[FrameRow], tensors: Mapping[str, Tensor], measures: Mapping[int, Mapping[str, float]]
) -> Frame:
    """Unpack the frame ``k`` from a row per arm, the tensors of :func:`packed_frame` and by arm its measures.

    Raises:
        ValueError, KeyError: a tensor is missing or of the wrong shape or dtype.
    """
    arms = tuple(
        FrameArm(
            xy=tensors[f"xy{i}"].numpy(),
            neighbours=tensors[f"nn{i}"].numpy().astype(np.int32),
            quality=float("nan") if row.quality is None else row.quality,
            drift=float("nan") if row.drift is None else row.drift,
            method=row.method,
            measures=dict(measures.get(i, {})),
        )
        for i, row in enumerate(rows)
    )
    points = len(arms[0].xy)
    for arm in arms:
        if arm.xy.shape != (points, 2) or arm.xy.dtype != np.uint16:
            raise ValueError(f"the maps of frame {k} have the wrong shape")
        near = arm.neighbours
        if near.ndim != 2 or len(near) != points or (near.size and not 0 <= near.min() <= near.max() < points):
            raise ValueError(f"the neighbours of frame {k} are not points of the map")
    return Frame(k=k, step=rows[0].step, seconds=rows[0].seconds, limit=rows[0].limit, arms=arms)


def unpacked_embeddings(k: int, tensors: Mapping[str, Tensor]) -> tuple[np.ndarray, ...]:
    """Unpack the embeddings of every arm, float16 ``[P, D]``, from the tensors ``arm0``, ``arm1``, ...

    Raises:
        ValueError, KeyError: a tensor is missing or of the wrong shape or dtype.
    """
    arms = tuple(tensors[f"arm{i}"].numpy() for i in range(len(tensors)))
    first = arms[0]
    if any(arm.ndim != 2 or len(arm) != len(first) or arm.dtype.kind != "f" or not arm.size for arm in arms):
        raise ValueError(f"the embeddings of snapshot {k} have the wrong shape")
    return arms
