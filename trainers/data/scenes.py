"""A photo with sentences and objects, as every caption source hands it over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Box = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One photo.

    Attributes:
        image_id: as the set names it.
        load: gives the encoded image, None if it cannot be had; called only when the pixels are needed.
        captions: sentences about it.
        boxes: x0, y0, x1, y1 in pixels of the upright original; corners as the set has them, not yet cleaned.
        classes: one name per box.
        width, height: of the original, 0 if the set does not say.
        without: PNG of the same scene without some classes; only drawn scenes can be drawn again.
    """

    image_id: str
    load: Callable[[], bytes | None]
    captions: tuple[str, ...]
    boxes: tuple[Box, ...]
    classes: tuple[str, ...]
    width: int = 0
    height: int = 0
    without: Callable[[Sequence[str]], bytes] | None = None


@dataclass(frozen=True, kw_only=True)
class SceneSet:
    """A set of photos with sentences.

    Attributes:
        title, licence: as its card says.
        splits: split name to photos.
        classes: object class names in the set's order.
        notes: plain sentences about decisions and losses.
    """

    title: str
    licence: str
    splits: dict[str, tuple[Scene, ...]]
    classes: tuple[str, ...]
    notes: tuple[str, ...]
