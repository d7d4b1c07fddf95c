"""Pixels as image files for the page."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from trainers.data.decode import WIDE, eight_bit, orientation, resized, upright
from trainers.data.image_file import open_header, unpacked

QUALITY = 90
_HEAVY = 16_000_000  # pixels


def encoded(pixels: np.ndarray, side: int | None = None) -> bytes:
    """Encode pixels uint8 ``[1 or 3, H, W]`` as a JPEG, of ``side`` pixels if that is less."""
    image = Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    if side is not None and side < max(image.size):
        image = image.resize((side, side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "jpeg", quality=QUALITY)
    return out.getvalue()


def data_url(pixels: np.ndarray) -> str:
    """Encode an image as an address that it is in."""
    return "data:image/jpeg;base64," + base64.b64encode(encoded(pixels)).decode("ascii")


def is_heavy(data: bytes) -> bool:
    """Return whether an image file has so many pixels that unpacking it again takes long."""
    with open_header(data) as image:
        return image.width * image.height > _HEAVY


def lightened(data: bytes, side: int) -> bytes:
    """Shrink an image file to an upright PNG, with its shorter side ``side`` pixels if that is less.

    Grey values of more than 8 bits are kept as they are, in a TIFF: each run scales them as its own images.
    """
    with open_header(data) as image, unpacked(image, 2 * side):
        ratio = min(1.0, side / min(image.size))
        size = (max(1, round(image.width * ratio)), max(1, round(image.height * ratio)))
        mark = orientation(image)
        if image.mode in WIDE:
            values = image if image.mode == "F" else image.convert("I")
            small, form = values.resize(size, Image.Resampling.BOX), "tiff"
        else:
            small, form = eight_bit(resized(image, size, reducing_gap=3.0)), "png"
    out = io.BytesIO()
    upright(small, mark).save(out, form, **({"compress_level": 1} if form == "png" else {}))
    return out.getvalue()


def shown_as_png(data: bytes) -> bytes:
    """Convert an image file that browsers cannot show, upright."""
    with open_header(data) as image, unpacked(image):
        small = upright(eight_bit(resized(image, image.size)), orientation(image))
    out = io.BytesIO()
    small.save(out, "png", compress_level=1)
    return out.getvalue()


def cut(sheet: bytes, columns: int, tile: int, index: int) -> np.ndarray:
    """Cut the tile number ``place`` out of a sheet of thumbnails, uint8 ``[3, tile, tile]``."""
    with open_header(sheet) as image, unpacked(image):
        left, top = index % columns * tile, index // columns * tile
        cropped = image.convert("RGB").crop((left, top, left + tile, top + tile))
        return np.asarray(cropped, np.uint8).transpose(2, 0, 1)
