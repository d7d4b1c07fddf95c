"""Encoded image bytes to small square uint8 arrays: upright, 8-bit, without alpha, centre-cropped, antialiased."""

from __future__ import annotations

import numpy as np
from PIL import Image

from trainers.data.image_file import UndecodableError, open_header, unpacked

GREY_MODES = frozenset({"1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F"})
_WIDE = GREY_MODES - {"1", "L", "LA"}
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What makes an image upright, by the number that its camera wrote (Exif 2.3, tag 0x0112)."""
SIDEWAYS = (5, 6, 7, 8)
"""Orientation marks that exchange width and height."""


def header(data: bytes) -> tuple[int, int, bool]:
    """Read width, height and whether it is grey, without unpacking the pixels.

    Raises:
        UndecodableError: not an image.
    """
    with open_header(data) as image:
        return image.width, image.height, image.mode in GREY_MODES


def square(data: bytes, side: int) -> np.ndarray:
    """Decode to uint8 [1, side, side] if the file is grey, else [3, side, side].

    The image's orientation mark is applied, the centre square is cut out and resized with a bicubic filter that
    covers the source area. Transparency is laid on white, 16-bit values are scaled to 8 bits.

    Raises:
        UndecodableError: not an image, damaged, cut short or too large.
    """
    try:
        with open_header(data) as image, unpacked(image, side * 3 // 2):  # some room is left for the resize
            width, height = image.size
            edge = min(width, height)
            left, top = (width - edge) / 2, (height - edge) / 2
            box = (left, top, left + edge, top + edge)
            small = resized(image, (side, side), box, reducing_gap=3.0)
            pixels = np.asarray(eight_bit(upright(small, orientation(image))), dtype=np.uint8)
    except UndecodableError:
        raise
    except Exception as error:
        raise UndecodableError(str(error)) from error
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def orientation(image: Image.Image) -> int:
    """Return how the camera was held, 1 to 8; 1 also where the file's remarks are broken, which cost no image."""
    try:
        mark = image.getexif().get(_ORIENTATION, 1)
    except Exception:
        return 1
    return mark if mark in _TURNS else 1


def upright(image: Image.Image, mark: int) -> Image.Image:
    """Turn an image by an orientation mark."""
    return image.transpose(_TURNS[mark]) if mark in _TURNS else image


def resized(
    image: Image.Image,
    size: tuple[int, int],
    box: tuple[float, float, float, float] | None = None,
    reducing_gap: float | None = None,
    *,
    keyed: bool = False,
) -> Image.Image:
    """Resize an image before anything else is done to it, so that only small images are converted.

    Args:
        box: the part that is wanted; None: all of it.
        reducing_gap: as Pillow's.
        keyed: a single transparent colour of an image without alpha counts as transparent.

    Returns:
        An image of 8 bits a channel, in the file's own channels; palettes are resolved and wide grey is scaled.
    """
    if image.mode in _WIDE:
        return _narrow(image, size, box)
    image = _averageable(image, keyed)
    if box is None and size == image.size:
        return image
    return image.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=reducing_gap)


def eight_bit(image: Image.Image) -> Image.Image:
    """Convert an image of :func:`resized` to mode L or RGB; transparency is laid on white."""
    if image.mode in ("L", "RGB"):
        return image
    if image.mode in ("LA", "RGBA", "La", "RGBa"):
        grey = image.mode in ("LA", "La")
        colour = image.convert("LA" if grey else "RGBA")
        paper = Image.new("L" if grey else "RGB", image.size, "white")
        paper.paste(colour.convert(paper.mode), mask=colour.getchannel("A"))
        return paper
    return image.convert("RGB")


def _averageable(image: Image.Image, keyed: bool) -> Image.Image:
    """Convert an image to a mode whose pixels can be averaged."""
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "PA" or ("transparency" in image.info and (keyed or image.mode == "P")):
        return image.convert("RGBA")
    return image.convert("RGB") if image.mode == "P" else image


def _narrow(image: Image.Image, size: tuple[int, int], box: tuple[float, float, float, float] | None) -> Image.Image:
    """Resize wide grey values, then scale them to 8 bits.

    Files of 32 bits do not say their range, so it is read off the largest value of the whole image.
    """
    sixteen = image.mode.startswith("I;16")
    if image.mode not in ("I", "F"):
        image = image.convert("I")
    top = float(np.nan_to_num(image.getextrema()[1]))
    values = np.nan_to_num(np.asarray(image.resize(size, Image.Resampling.BICUBIC, box=box), dtype=np.float32))
    if sixteen or 255.0 < top <= 65535.0:
        values = values / 257.0
    elif top > 65535.0:
        values = values * (255.0 / top)
    elif top <= 1.0:
        values = values * 255.0
    return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))
