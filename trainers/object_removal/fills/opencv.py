"""OpenCV's two inpainting methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from trainers.object_removal.fills.base import FillDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class RadiusParameters:
    """Time grows with the painted pixels times the square of the radius."""

    radius: float = parameter(3.0, low=1.0, high=20.0, help="Pixels around a point that it is painted from.")


def missing(_parameters: object) -> str | None:
    """Say why OpenCV's fills cannot be used, or None."""
    try:
        absent = find_spec("cv2") is None
    except ValueError:  # another thread is importing it
        absent = False
    return "This fill needs OpenCV: pip install opencv-contrib-python-headless" if absent else None


def _fill(method: str, image: np.ndarray, mask: np.ndarray, parameters: RadiusParameters) -> np.ndarray:
    import cv2

    return cv2.inpaint(image, mask.astype(np.uint8), parameters.radius, getattr(cv2, method))


DESCRIPTORS = (
    FillDescriptor(
        name="telea",
        title="Telea",
        sentence="Fills from the border inwards, each pixel from its known neighbours; smooth, slightly blurred.",
        paper="An Image Inpainting Technique Based on the Fast Marching Method, Telea 2004",
        fill=partial(_fill, "INPAINT_TELEA"),
        parameters=RadiusParameters,
        missing=missing,
        order=10,
    ),
    FillDescriptor(
        name="navier_stokes",
        title="Navier-Stokes",
        sentence="Continues lines of equal brightness into the region, as in a fluid; close to Telea, a little faster.",
        paper="Navier-Stokes, Fluid Dynamics, and Image and Video Inpainting, Bertalmio et al. 2001",
        fill=partial(_fill, "INPAINT_NS"),
        parameters=RadiusParameters,
        missing=missing,
        order=20,
    ),
)
