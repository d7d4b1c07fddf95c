"""Telea inpainting, by OpenCV."""

from __future__ import annotations

import numpy as np

from trainers.object_removal.fills._opencv import RadiusParameters, inpaint, missing
from trainers.object_removal.fills.base import FillDescriptor


def _fill(image: np.ndarray, mask: np.ndarray, parameters: RadiusParameters) -> np.ndarray:
    return inpaint(image, mask, parameters.radius, "INPAINT_TELEA")


DESCRIPTOR = FillDescriptor(
    name="telea",
    title="Telea",
    sentence="Fills from the border inwards, each pixel from its known neighbours; smooth, slightly blurred.",
    paper="An Image Inpainting Technique Based on the Fast Marching Method, Telea 2004",
    fill=_fill,
    parameters=RadiusParameters,
    missing=missing,
    order=10,
)
