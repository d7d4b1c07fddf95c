"""Images in place of a recipe's own: the drawn world, with as many levels of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import ImageSet

SIDE, MOST = 32, 960
"""Pixels; images of a split, ten of each pot to train on."""
DRAWN = 3
"""Levels that the drawn world has by itself: pot, shape, shelf."""

_GROUPS: Mapping[str, Callable[[int, int, int], int]] = {
    "hall": lambda number, shape, shelf: shelf // 2,
    "shelf": lambda number, shape, shelf: shelf,
    "pair": lambda number, shape, shelf: shape // 2,
    "shape": lambda number, shape, shelf: shape,
    "four": lambda number, shape, shelf: number // 4,
    "two": lambda number, shape, shelf: number // 2,
}
"""Levels above a pot, coarsest first, from its number within its shape, its shape and its shelf."""
_ABOVE = {
    1: (),
    2: ("shape",),
    3: ("shelf", "shape"),
    4: ("shelf", "pair", "shape"),
    5: ("hall", "shelf", "pair", "shape"),
    6: ("hall", "shelf", "pair", "shape", "two"),
    7: tuple(_GROUPS),
}


def stand_in(levels: int, folder: Path) -> str:
    """Return a source of labelled images with so many levels; unless the drawn world has them, images are written.

    Args:
        levels: 1 to 7.
        folder: where they are written, in a folder of their own, unless they are there.
    """
    if levels == DRAWN:
        return "drawn"
    home = folder / f"levels{levels}"
    if not (home / "test").is_dir():
        data = load_data(DataChoice(image_size=SIDE, max_images=MOST))
        for part, images in (("train", data.train), ("test", data.test)):
            _write(home / part, images, _ABOVE[levels])
    return str(home)


def _write(folder: Path, images: ImageSet, above: tuple[str, ...]) -> None:
    """Write ``folder/GROUP/.../POT/N.png`` for every image."""
    labels = images.labels.numpy()
    numbers = _numbers(labels)
    for row, (image, (pot, shape, shelf)) in enumerate(zip(images.images.numpy(), labels.tolist(), strict=True)):
        groups = [f"{name}{_GROUPS[name](numbers[pot], shape, shelf):02d}" for name in above]
        path = folder.joinpath(*groups, f"pot{pot:03d}")
        path.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.transpose(1, 2, 0)).save(path / f"{row}.png")


def _numbers(labels: np.ndarray) -> dict[int, int]:
    """Count the pots of each shape from 0."""
    pairs = sorted({(int(shape), int(pot)) for pot, shape, _ in labels})
    first = {shape: index for index, (shape, _) in reversed(list(enumerate(pairs)))}
    return {pot: index - first[shape] for index, (shape, pot) in enumerate(pairs)}
