"""One colour: the mean of the region itself."""

from __future__ import annotations

import numpy as np

from trainers.object_removal.fills.base import FillDescriptor
from trainers.registry import NoParameters


def _fill(image: np.ndarray, mask: np.ndarray, _parameters: NoParameters) -> np.ndarray:
    colour = np.rint(image[mask].astype(np.float64).mean(axis=0)).astype(np.uint8)
    return np.broadcast_to(colour, image.shape)


DESCRIPTOR = FillDescriptor(
    name="mean",
    title="Mean colour",
    sentence="Paints the region with its own mean colour.",
    paper="Kim et al. 2023, table 3: mean padding",
    fill=_fill,
    order=40,
)
