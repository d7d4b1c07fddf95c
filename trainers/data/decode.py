"""Encoded image bytes to small square uint8 arrays: upright, 8-bit, without alpha, centre-cropped, antialiased."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageOps

MAX_PIXELS = 100_000_000
"""Larger pictures are refused before they are unpacked: a few kilobytes can claim to be terapixels."""

GREY_MODES = frozenset({"1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F"})


class UndecodableError(Exception):
    """These bytes are no picture that can be used."""


def header(data: bytes) -> tuple[int, int, bool]:
    """Width, height and whether it is grey, without unpacking the pixels.

    Raises:
        UndecodableError: not a picture, or too large.
    """
    with _open(data) as picture:
        return picture.width, picture.height, picture.mode in GREY_MODES


def square(data: bytes, side: int) -> np.ndarray:
    """Decode to uint8 [1, side, side] if the file is grey, else [3, side, side].

    The photo's orientation mark is applied, the centre square is cut out and resized with a bicubic filter that
    covers the source area. Transparency is laid on white, 16-bit values are scaled to 8 bits.

    Raises:
        UndecodableError: not a picture, damaged, cut short or too large.
    """
    try:
        with _open(data) as picture:
            if picture.format == "JPEG":
                # Lets the JPEG decoder skip frequencies that the resize would throw away; some room is left for it.
                picture.draft(None, (side * 3 // 2, side * 3 // 2))
            ImageOps.exif_transpose(picture, in_place=True)
            return _resize(eight_bit(picture), side)
    except UndecodableError:
        raise
    except Exception as error:  # broken files make PIL raise OSError, SyntaxError, struct.error, ...
        raise UndecodableError(str(error)) from error


def _open(data: bytes) -> Image.Image:
    try:
        picture = Image.open(io.BytesIO(data))
    except Exception as error:
        raise UndecodableError(str(error)) from error
    if picture.width * picture.height > MAX_PIXELS or not picture.width or not picture.height:
        raise UndecodableError(f"{picture.width} x {picture.height} pixels")
    return picture


def eight_bit(picture: Image.Image) -> Image.Image:
    """To mode L or RGB: wide values scaled, transparency laid on white."""
    if picture.mode in ("L", "RGB"):
        # A plain picture may still name one transparent colour; it stays as it is drawn.
        return picture
    if picture.mode == "1":
        return picture.convert("L")
    if picture.mode in GREY_MODES - {"LA"}:
        return Image.fromarray(_scale(np.asarray(picture), sixteen=picture.mode.startswith("I;16")))
    if picture.mode == "LA" or picture.mode in ("RGBA", "PA", "La", "RGBa") or "transparency" in picture.info:
        colour = picture.convert("RGBA")
        paper = Image.new("RGBA", colour.size, (255, 255, 255, 255))
        flat = Image.alpha_composite(paper, colour)
        return flat.convert("L" if picture.mode == "LA" else "RGB")
    return picture.convert("RGB")


def _scale(values: np.ndarray, *, sixteen: bool) -> np.ndarray:
    """Wide grey values to uint8. Files of 32 bits do not say their range, so it is read off the largest value."""
    values = np.nan_to_num(values.astype(np.float32))
    top = float(values.max(initial=0.0))
    if sixteen or 255.0 < top <= 65535.0:
        values = values / 257.0
    elif top > 65535.0:
        values = values * (255.0 / top)
    elif top <= 1.0:
        values = values * 255.0
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _resize(picture: Image.Image, side: int) -> np.ndarray:
    width, height = picture.size
    edge = min(width, height)
    left, top = (width - edge) / 2, (height - edge) / 2
    box = (left, top, left + edge, top + edge)
    small = picture.resize((side, side), Image.Resampling.BICUBIC, box=box, reducing_gap=3.0)
    pixels = np.asarray(small, dtype=np.uint8)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))
