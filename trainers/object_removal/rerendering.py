"""Rendering a drawn scene again without an object: the exact answer that a fill approximates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainers.data.captioned.scenes import Scene
from trainers.data.synthetic.scenes import drawing_of
from trainers.errors import DataError, ParameterError
from trainers.object_removal.fills import FILLS, FillDescriptor
from trainers.object_removal.image import LONGEST, read_picture

RERENDER = "rerender"
"""Named in place of a fill."""
RERENDER_TITLE = "Drawn again without it"


def rerendered(scene: Scene | None, classes: Sequence[str], longest: int = LONGEST) -> np.ndarray:
    """A drawn scene without some classes, uint8 ``[H, W, 3]``.

    Raises:
        DataError: this image is no drawn scene.
    """
    drawing = None if scene is None else drawing_of(scene)
    if drawing is not None:
        return drawing.pixels(longest, classes)
    if scene is None or scene.without is None:
        raise DataError("Only the drawn scenes can be drawn again without an object. Choose another fill.")
    return read_picture(scene.without(classes), longest).pixels


def fill_named(name: str) -> FillDescriptor:
    """A fill by name.

    Raises:
        ParameterError: there is none of that name.
    """
    if name not in FILLS:
        raise ParameterError(f"There is no fill {name[:40]!r}; choose from {', '.join((*FILLS, RERENDER))}.")
    return FILLS[name]
