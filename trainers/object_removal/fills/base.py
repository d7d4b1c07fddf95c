"""The descriptor of a fill, and the function that checks images and masks and paints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.data.captioned_images import CaptionedImage
from trainers.data.picture import check_image
from trainers.errors import DataError, UserError
from trainers.registry import Descriptor

Fill = Callable[[np.ndarray, np.ndarray, Any], np.ndarray]
"""uint8 ``[H, W, 3]``, bool ``[H, W]`` (true: paint) and the parameters to uint8 ``[H, W, 3]``."""
Redraw = Callable[[CaptionedImage, Collection[str], int, Any], np.ndarray]
"""A scene, the classes to leave out, the longer side in pixels and the parameters to uint8 ``[H, W, 3]``."""


@dataclass(frozen=True, kw_only=True)
class FillDescriptor(Descriptor):
    """One entry of the registry of fills. It has either ``fill`` or ``redraw``.

    Attributes:
        paper: where it comes from.
        fill: called with a checked image and a mask that covers something, but not everything.
        slow: it may take seconds.
        redraw: for a fill that needs the scene; called with a scene that can be drawn without some of its classes.
    """

    paper: str
    fill: Fill | None = None
    redraw: Redraw | None = None
    slow: bool = False

    def unfit(self, scene: CaptionedImage | None) -> str | None:
        """Say why it cannot be used on a scene, or on an image that is none; None if it can."""
        if self.redraw is None or (scene is not None and scene.without is not None):
            return None
        return "Only the drawn scenes can be drawn again without an object. Choose another fill."


def paint(
    descriptor: FillDescriptor,
    image: np.ndarray,
    mask: np.ndarray,
    parameters: Mapping[str, Any] | None = None,
    *,
    scene: CaptionedImage | None = None,
    removed: Collection[str] = (),
) -> np.ndarray:
    """Remove what the mask covers; a fill with ``fill`` leaves all other pixels as they are.

    Args:
        image: uint8 ``[H, W, 3]``.
        mask: bool ``[H, W]``, true where to paint. Empty: a copy comes back, unless the fill needs the scene.
        parameters: of the fill, by name; missing ones take their defaults.
        scene: the scene that the image shows, if it is one.
        removed: the classes of the scene to leave out, if whole objects go.

    Raises:
        UserError: shapes or types do not fit, the mask covers everything, the fill is not available here, or it needs
            a scene and classes and has none.
    """
    check_image(image)
    if mask.dtype != np.bool_ or mask.shape != image.shape[:2]:
        raise UserError(f"A mask bool {list(image.shape[:2])} is needed; got {mask.dtype} {list(mask.shape)}.")
    values = descriptor.checked(parameters or {})
    reason = descriptor.missing(values)
    if reason is not None:
        raise UserError(reason)
    if descriptor.redraw is not None:
        return _redrawn(descriptor, scene, removed, image, values)
    if not mask.any():
        return image.copy()
    if mask.all():
        raise UserError("The region is the whole image; nothing is left to paint it from. Choose a smaller one.")
    assert descriptor.fill is not None
    painted = descriptor.fill(np.ascontiguousarray(image), np.ascontiguousarray(mask), values)
    return np.where(mask[..., None], painted, image)


def _redrawn(
    descriptor: FillDescriptor, scene: CaptionedImage | None, removed: Collection[str], image: np.ndarray, values: Any
) -> np.ndarray:
    reason = descriptor.unfit(scene)
    if reason is not None:
        raise DataError(reason)
    if not removed:
        raise DataError("Drawing again leaves out whole objects: choose one of the list, or another fill.")
    assert descriptor.redraw is not None and scene is not None
    return descriptor.redraw(scene, removed, max(image.shape[:2]), values)
