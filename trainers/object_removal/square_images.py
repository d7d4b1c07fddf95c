"""The images of scenes as square tensors of the sizes that models take."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from trainers.data.captioned_images import CaptionedImage
from trainers.data.picture import LONGEST, read_picture
from trainers.data.settings import GB, memory_bytes
from trainers.data.synthetic import scenes as drawn_scenes
from trainers.errors import DataError
from trainers.image_text.encoding import squash
from trainers.progress import Progress, silent


def read_images(
    scenes: Sequence[CaptionedImage], sides: Sequence[int], progress: Progress = silent, most: int | None = None
) -> tuple[dict[int, Tensor], list[int]]:
    """Read images, side to uint8 ``[N, 3, side, side]``; also return the indices in ``scenes`` of those that can be
    read.

    Args:
        scenes: where the images come from.
        sides: sizes that are needed, at least one.
        progress: told how many were read.
        most: images that are read at most; None: all of them.

    Raises:
        DataError: no image can be read, or they do not fit into memory.
    """
    count = len(scenes) if most is None else min(most, len(scenes))
    check_memory(count, sides)
    if drawn_scenes.are_drawn(scenes):
        scenes = scenes[:count]
        return {side: drawn_images(scenes, side, progress) for side in sides}, list(range(count))
    images: dict[int, list[Tensor]] = {side: [] for side in sides}
    kept: list[int] = []
    for index, scene in enumerate(scenes):
        if len(kept) >= count:
            break
        progress("reading images", max(index / len(scenes), len(kept) / count))
        try:
            pixels = read_picture(scene.load() or b"", LONGEST).pixels
        except DataError:
            continue
        kept.append(index)
        for side, squared in images.items():
            squared.append(squash(pixels, side))
    if not kept:
        raise DataError(f"None of {len(scenes)} images can be read.")
    return {side: torch.stack(squared) for side, squared in images.items()}, kept


def drawn_images(
    scenes: Sequence[CaptionedImage],
    side: int,
    progress: Progress = silent,
    removed: Sequence[Sequence[str]] | None = None,
) -> Tensor:
    """Draw scenes as uint8 ``[N, 3, side, side]``, with or without some classes.

    A model that takes more pixels than a scene has gets the scene enlarged, like the filled images: if one were
    rendered sharper than the other, sharpness would give away what was removed.
    """
    drawn_side = min(side, scenes[0].width)
    images = torch.from_numpy(drawn_scenes.pixels(scenes, drawn_side, removed, progress))
    if drawn_side == side:
        return images
    return torch.stack([squash(image.permute(1, 2, 0).numpy(), side) for image in images])


def longest_side(scenes: Sequence[CaptionedImage], side: int) -> int:
    """Return the longer side at which objects are filled: drawn scenes have no more detail than the model sees."""
    return min(side, scenes[0].width) if drawn_scenes.are_drawn(scenes) else LONGEST


def check_memory(count: int, sides: Sequence[int]) -> None:
    """Refuse images that do not fit into memory.

    Raises:
        DataError: with the number that fits.
    """
    each = sum(3 * side * side for side in sides)
    needed, allowed = each * count, memory_bytes()
    if needed > allowed:
        size = " and ".join(f"{side} x {side}" for side in sides)
        raise DataError(
            f"{count:,} images of {size} pixels take {needed / GB:.1f} GB of memory; {allowed / GB:.1f} GB may be "
            f"used. Read at most {allowed // each:,} of each split (`--limit`), or raise RANKSCOPE_MEMORY_GB."
        )
