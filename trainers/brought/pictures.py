"""Thumbnails of images that somebody brought, and what stands for them where there are none."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.data.decode import square
from trainers.errors import DataError, UserError
from trainers.pictures.palette import TOKENS, palette

SIDE = 96
GREY = 225
_LATIN = 0x24F  # last letter of the font that Pillow brings
_LIMIT = 2**28  # bytes of a file


def thumbnails(images: Sequence[Any] | None, rows: Sequence[int]) -> tuple[Tensor, int]:
    """Return uint8 ``[P, 3, SIDE, SIDE]`` of some images, and how many could not be read; those are grey, as all are
    where there are no images.

    Args:
        images: paths, bytes of files, PIL images, or arrays and tensors ``[H, W]``, ``[H, W, C]`` or ``[C, H, W]`` of
            0 to 255 or, as floating point, 0 to 1.
        rows: which of them.
    """
    made = torch.full((len(rows), 3, SIDE, SIDE), GREY, dtype=torch.uint8)
    lost = 0
    for place, row in enumerate(rows if images is not None else ()):
        try:
            made[place] = torch.from_numpy(np.broadcast_to(_read(images[row]), (3, SIDE, SIDE)).copy())  # type: ignore[index]
        except (UserError, OSError, ValueError, TypeError):
            lost += 1
    return made, lost


def lettered(labels: np.ndarray, names: Sequence[str]) -> Tensor:
    """Return uint8 ``[P, 3, SIDE, SIDE]`` with the names of the images' classes, each on a tint of its colour.

    Args:
        labels: integers ``[P, L]``, classes by level, the finest first.
        names: of the classes of the finest level.
    """
    fine, places = np.unique(labels[:, 0], return_inverse=True)
    colours = palette(labels).colours
    tiles = np.stack([_lettered(names[each], colours[int(each)]) for each in fine])
    return torch.from_numpy(np.moveaxis(tiles, 3, 1)[places].copy())


def _lettered(name: str, colour: str) -> np.ndarray:
    from PIL import Image, ImageDraw, ImageFont

    tile = Image.blend(Image.new("RGB", (SIDE, SIDE), "white"), Image.new("RGB", (SIDE, SIDE), colour), 0.3)
    known = all(ord(character) <= _LATIN for character in name)
    lines = textwrap.wrap(name[:200], 10, max_lines=3, placeholder="…") if known else []
    place, ink, font = SIDE / 2, TOKENS["--rs-text"], ImageFont.load_default(16)
    ImageDraw.Draw(tile).multiline_text((place, place), "\n".join(lines), ink, font, anchor="mm", align="center")
    return np.asarray(tile)


def _read(image: Any) -> np.ndarray:
    if isinstance(image, (str, Path)):
        path = Path(image)
        if path.stat().st_size > _LIMIT:
            raise DataError(f"{path} is larger than {_LIMIT:,} bytes.")
        return square(path.read_bytes(), SIDE)
    if isinstance(image, (bytes, bytearray, memoryview)):
        return square(bytes(image), SIDE)
    if isinstance(image, dict):  # as datasets stores an image that is not decoded
        return _read(image["bytes"] if image.get("bytes") else image["path"])
    if hasattr(image, "convert"):
        return _resized(np.asarray(image.convert("RGB")))
    return _resized(_pixels(image))


def _pixels(image: Any) -> np.ndarray:
    values = image.detach().cpu().numpy() if isinstance(image, Tensor) else np.asarray(image)
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3:
        raise ValueError("no image")
    if values.shape[0] in (1, 3, 4) and values.shape[2] not in (1, 3, 4):
        values = np.moveaxis(values, 0, 2)
    if values.dtype.kind == "f":
        values = np.clip(values, 0, 1) * 255
    values = values[:, :, :3].astype(np.uint8)
    return np.repeat(values, 3, axis=2) if values.shape[2] == 1 else values


def _resized(pixels: np.ndarray) -> np.ndarray:
    from PIL import Image, ImageOps

    return np.moveaxis(np.asarray(ImageOps.fit(Image.fromarray(pixels), (SIDE, SIDE))), 2, 0)
