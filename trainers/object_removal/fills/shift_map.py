"""OpenCV's shift map: what is removed is covered by pieces of the rest of the image, moved."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from trainers.object_removal.fills import opencv
from trainers.object_removal.fills.base import FillDescriptor
from trainers.parameters import parameter

_STEP = 1e-7
"""What one pixel further counts in the channel of the places; colours, which decide, run from 0 to 255."""
_RADIUS = 3.0
NAME = "shift_map"


@dataclass(frozen=True, kw_only=True)
class ShiftMapParameters:
    """Time grows with about the square of the side."""

    side: int = parameter(
        320,
        low=64,
        high=640,
        help="Longer side at which the shifts are worked out, pixels; they move pixels of the image.",
    )


def _missing(parameters: object) -> str | None:
    if (lacking := opencv.missing(parameters)) is not None:
        return lacking
    spec = None if "cv2" in sys.modules else find_spec("cv2")
    places = sys.modules["cv2"].__path__ if spec is None else spec.submodule_search_locations
    if any((Path(place) / "xphoto").is_dir() for place in places or ()):
        return None
    return (
        "The shift map is in opencv-contrib-python-headless, which takes the place of opencv-python-headless: pip "
        "uninstall opencv-python-headless, then pip install --force-reinstall opencv-contrib-python-headless"
    )


def _sources(image: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return which pixel of the image takes the place of each, row-major numbers int64 ``[H, W]``."""
    import cv2

    height, width = known.shape
    places = (np.arange(height * width, dtype=np.float32) * np.float32(_STEP)).reshape(height, width, 1)
    coloured = np.concatenate([cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32), places], axis=2)
    moved = coloured.copy()
    # whole pixels are moved, with the number of their place: so the map is read off its result exactly
    cv2.xphoto.inpaint(coloured, known.astype(np.uint8) * 255, moved, cv2.xphoto.INPAINT_SHIFTMAP)
    return np.rint(moved[..., 3].astype(np.float64) / _STEP).astype(np.int64)


def _fill(image: np.ndarray, mask: np.ndarray, parameters: ShiftMapParameters) -> np.ndarray:
    import cv2

    height, width = mask.shape
    ratio = min(1.0, parameters.side / max(height, width))
    size = (max(1, round(width * ratio)), max(1, round(height * ratio)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    unknown = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0
    sources = _sources(small, ~unknown)
    rows, columns = np.nonzero(mask)
    down, right = size[1] / height, size[0] / width
    at_row, at_column = (rows * down).astype(np.int64), (columns * right).astype(np.int64)
    source_row, source_column = np.divmod(sources[at_row, at_column], size[0])
    from_row = np.clip(rows + np.rint((source_row - at_row) / down).astype(np.int64), 0, height - 1)
    from_column = np.clip(columns + np.rint((source_column - at_column) / right).astype(np.int64), 0, width - 1)
    painted, left = image.copy(), np.zeros_like(mask)
    painted[rows, columns] = image[from_row, from_column]
    left[rows, columns] = mask[from_row, from_column]  # nothing known lies where the shift leads
    return cv2.inpaint(painted, left.astype(np.uint8), _RADIUS, cv2.INPAINT_TELEA) if left.any() else painted


DESCRIPTOR = FillDescriptor(
    name=NAME,
    title="Shift map",
    sentence="Covers the region with pieces of the rest of the image: real texture, seams may show; for large regions.",
    paper="Statistics of Patch Offsets for Image Completion, He and Sun 2012; shift maps are of Pritch et al. 2009",
    fill=_fill,
    parameters=ShiftMapParameters,
    missing=_missing,
    slow=True,
    order=25,
)
