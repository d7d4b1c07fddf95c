"""The scene drawn again without the removed objects: what a perfect fill would give, for drawn scenes alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from trainers.data.captioned_images import CaptionedImage
from trainers.data.picture import read_picture
from trainers.data.synthetic.scenes import drawing_of
from trainers.object_removal.fills.base import FillDescriptor


def _draw(scene: CaptionedImage, removed: Collection[str], side: int, _parameters: Any) -> np.ndarray:
    drawing = drawing_of(scene)
    if drawing is not None:
        return drawing.pixels(side, removed)
    assert scene.without is not None
    return read_picture(scene.without(tuple(removed)), side).pixels


DESCRIPTOR = FillDescriptor(
    name="rerender",
    title="Drawn again without it",
    sentence="Draws the scene again without the object; for the drawn scenes alone.",
    paper="What the other fills are measured against; not in Kim et al. 2023",
    redraw=_draw,
    order=70,
)
