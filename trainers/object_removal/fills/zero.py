"""Black: zero padding."""

from __future__ import annotations

import numpy as np

from trainers.object_removal.fills.base import FillDescriptor
from trainers.registry import NoParameters


def _fill(image: np.ndarray, _mask: np.ndarray, _parameters: NoParameters) -> np.ndarray:
    return np.zeros_like(image)


DESCRIPTOR = FillDescriptor(
    name="zero",
    title="Black",
    sentence="Paints the region black: the crudest baseline, which a model can learn to recognise.",
    paper="Kim et al. 2023, table 3: zero padding",
    fill=_fill,
    order=50,
)
