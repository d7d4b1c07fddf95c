"""Navier-Stokes inpainting, by OpenCV."""

from __future__ import annotations

import numpy as np

from trainers.object_removal.fills._opencv import RadiusParameters, inpaint, missing
from trainers.object_removal.fills.base import FillDescriptor


def _fill(image: np.ndarray, mask: np.ndarray, parameters: RadiusParameters) -> np.ndarray:
    return inpaint(image, mask, parameters.radius, "INPAINT_NS")


DESCRIPTOR = FillDescriptor(
    name="navier_stokes",
    title="Navier-Stokes",
    sentence="Continues lines of equal brightness into the region, as in a fluid; close to Telea, a little faster.",
    paper="Navier-Stokes, Fluid Dynamics, and Image and Video Inpainting, Bertalmio et al. 2001",
    fill=_fill,
    parameters=RadiusParameters,
    missing=missing,
    order=20,
)
