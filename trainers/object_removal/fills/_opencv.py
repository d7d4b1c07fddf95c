"""OpenCV's two inpainting methods."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class RadiusParameters:
    """Time grows with the painted pixels times the square of the radius."""

    radius: float = parameter(3.0, low=1.0, high=20.0, help="Pixels around a point that it is painted from.")


def missing(_parameters: object) -> str | None:
    """Why OpenCV cannot be used, or None."""
    try:
        absent = find_spec("cv2") is None
    except ValueError:  # another thread is importing it
        absent = False
    if absent:
        return "This fill needs OpenCV: pip install opencv-python-headless"
    return None


def inpaint(image: np.ndarray, mask: np.ndarray, radius: float, flag: str) -> np.ndarray:
    """``cv2.inpaint``; uint8 ``[H, W, 3]``, bool ``[H, W]``, radius in pixels, the name of the method's constant."""
    import cv2

    return cv2.inpaint(image, mask.astype(np.uint8), radius, getattr(cv2, flag))
