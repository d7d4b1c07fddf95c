"""Pixels as image files for the page."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from trainers.data.image_file import open_header, unpacked

QUALITY = 90


def encoded(pixels: np.ndarray, side: int | None = None) -> bytes:
    """Pixels uint8 ``[1 or 3, H, W]`` as a JPEG, of ``side`` pixels if that is less."""
    image = Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    if side is not None and side < max(image.size):
        image = image.resize((side, side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "jpeg", quality=QUALITY)
    return out.getvalue()


def cut(sheet: bytes, columns: int, tile: int, place: int) -> np.ndarray:
    """The tile ``place`` of a sheet of thumbnails, uint8 ``[3, tile, tile]``."""
    with open_header(sheet) as image, unpacked(image):
        left, top = place % columns * tile, place // columns * tile
        cropped = image.convert("RGB").crop((left, top, left + tile, top + tile))
        return np.asarray(cropped, np.uint8).transpose(2, 0, 1)
