"""Images whose main object is known: where it is, and where it was drawn here also how the image looks without it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice, SceneChoice
from trainers.data import cache
from trainers.data.captioned_images import Box, CaptionedImage
from trainers.data.decode import header
from trainers.hierarchy import Hierarchy
from trainers.object_removal.regions import clean_boxes, pixel_mask
from trainers.progress import Progress, silent

Redraw = Callable[[np.ndarray], Tensor]
"""From places among the images, int64 ``[n]``, to uint8 ``[n, C, S, S]``."""
OBJECT = "object"
"""The class of an object in a dataset that names none."""


@dataclass(frozen=True, kw_only=True)
class ObjectRequest:
    """A request: which images, and how an encoder takes them.

    Attributes:
        data: the dataset; with captions as a choice of these if it was trained on as such.
        test_set: it is the one that the run was trained on, so that its test set is meant.
        channels, side: of the images.
        limit: most images of the gallery.
        progress: told what is being read; it may raise to stop.
    """

    data: DataChoice | SceneChoice
    test_set: bool
    channels: int
    side: int
    limit: int
    progress: Progress = silent


@dataclass(frozen=True, kw_only=True)
class ObjectImages:
    """A gallery of N images, some of which have an object that can be removed.

    Attributes:
        title: of the dataset.
        images: uint8 ``[N, C, S, S]``, as an encoder takes them.
        labels: int64 ``[N, L]``, finest first; hierarchy: their names.
        rows: int64 ``[N]``, row of each image in the test set of the run, or its place in the dataset.
        ids: a name for each image, where the dataset has them.
        masks: from places int64 ``[n]`` to bool ``[n, S, S]``, pixels of the object; all False: none is known.
        classes: from a place to the pixels of the objects of each class, bool ``[S, S]``; None: all of an image's
            objects are one.
        redrawn: draws images exactly without their object; None: they are not drawn here.
        test_set: the images are the test set of the run that is measured.
        notes: sentences about what was left out.
        key: equal where images, labels and objects are.
    """

    title: str
    images: Tensor
    labels: np.ndarray
    hierarchy: Hierarchy
    rows: np.ndarray
    masks: Callable[[np.ndarray], np.ndarray]
    key: str
    ids: tuple[str, ...] = ()
    classes: Callable[[int], Mapping[str, np.ndarray]] | None = None
    redrawn: Redraw | None = None
    test_set: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.images)

    @property
    def side(self) -> int:
        """S."""
        return int(self.images.shape[-1])

    def known(self, index: int) -> dict[str, np.ndarray]:
        """Map classes to the pixels of their objects in an image, bool ``[S, S]``; those without any are left out."""
        masks = {OBJECT: self.masks(np.array([index]))[0]} if self.classes is None else self.classes(index)
        return {name: mask for name, mask in masks.items() if mask.any()}


def square_masks(boxes: Sequence[Sequence[Box]], sizes: Sequence[tuple[int, int]], side: int) -> np.ndarray:
    """Return the pixels that boxes touch after the centre square of each image was cut out and resized, bool ``[N, S,
    S]``.

    Args:
        boxes: of each image, in pixels of the upright original.
        sizes: width and height of each original.
        side: S.
    """
    masks = np.zeros((len(boxes), side, side), dtype=bool)
    for mask, of_image, (width, height) in zip(masks, boxes, sizes, strict=True):
        edge = min(width, height)
        if edge < 1:
            continue
        left, top, scale = (width - edge) / 2, (height - edge) / 2, side / edge
        moved = [((x0 - left) * scale, (y0 - top) * scale, (x1 - left) * scale, (y1 - top) * scale)
                 for x0, y0, x1, y1 in of_image]  # fmt: skip
        mask |= pixel_mask(clean_boxes(moved, side, side).boxes, side, side)
    return masks


def class_masks(scene: CaptionedImage, side: int) -> dict[str, np.ndarray]:
    """Map each class to the pixels of its boxes in the centre square of an image, bool ``[S, S]``.

    Raises:
        UndecodableError: its size is not known, and it cannot be read.
    """
    boxes: dict[str, list[Box]] = {}
    for box, name in zip(scene.boxes, scene.classes, strict=True):
        boxes.setdefault(name, []).append(box)
    size = (scene.width, scene.height) if scene.width and scene.height else header(scene.load() or b"")[:2]
    return dict(zip(boxes, square_masks(list(boxes.values()), [size] * len(boxes), side), strict=True))


def square_mask(mask: np.ndarray, side: int) -> np.ndarray:
    """Cut and resize a mask bool ``[H, W]`` of an upright image like the image: bool ``[S, S]``, every pixel that the
    mask touches.
    """
    height, width = mask.shape
    edge = min(width, height)
    left, top = (width - edge) // 2, (height - edge) // 2
    cut = mask[top : top + edge, left : left + edge]
    small = torch.nn.functional.adaptive_max_pool2d(torch.from_numpy(cut[None].astype(np.float32)), side)
    covered: np.ndarray = small[0].numpy() > 0
    return covered


def fingerprint(images: Tensor, labels: np.ndarray, *more: object) -> str:
    """Hash pixels, labels and whatever else decides what is removed; hexadecimal."""
    digest = hashlib.blake2b(repr(more).encode(), digest_size=16)
    digest.update(repr((tuple(images.shape), labels.shape)).encode())
    digest.update(np.ascontiguousarray(labels, np.int64).tobytes())
    cache.update(digest, np.ascontiguousarray(images.numpy()))
    return digest.hexdigest()
