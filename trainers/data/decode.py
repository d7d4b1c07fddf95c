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
"""What makes a photo upright, by the number that its camera wrote (Exif 2.3, tag 0x0112)."""
SIDEWAYS = (5, 6, 7, 8)
"""Orientation marks that exchange width and height."""


def header(data: bytes) -> tuple[int, int, bool]:
    """Width, height and whether it is grey, without unpacking the pixels.

    Raises:
        UndecodableError: not a picture.
    """
    with open_header(data) as picture:
        return picture.width, picture.height, picture.mode in GREY_MODES


def square(data: bytes, side: int) -> np.ndarray:
    """Decode to uint8 [1, side, side] if the file is grey, else [3, side, side].

    The photo's orientation mark is applied, the centre square is cut out and resized with a bicubic filter that
    covers the source area. Transparency is laid on white, 16-bit values are scaled to 8 bits.

    Raises:
        UndecodableError: not a picture, damaged, cut short or too large.
    """
    try:
        with open_header(data) as picture, unpacked(picture, side * 3 // 2):  # some room is left for the resize
            width, height = picture.size
            edge = min(width, height)
            left, top = (width - edge) / 2, (height - edge) / 2
            box = (left, top, left + edge, top + edge)
            small = resized(picture, (side, side), box, reducing_gap=3.0)
            pixels = np.asarray(eight_bit(upright(small, orientation(picture))), dtype=np.uint8)
    except UndecodableError:
        raise
    except Exception as error:
        raise UndecodableError(str(error)) from error
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def orientation(picture: Image.Image) -> int:
    """How the camera was held, 1 to 8; 1 also where the file's remarks are broken: they must not cost the photo."""
    try:
        mark = picture.getexif().get(_ORIENTATION, 1)
    except Exception:
        return 1
    return mark if mark in _TURNS else 1


def upright(picture: Image.Image, mark: int) -> Image.Image:
    """Turned by an orientation mark."""
    return picture.transpose(_TURNS[mark]) if mark in _TURNS else picture


def resized(
    picture: Image.Image,
    size: tuple[int, int],
    box: tuple[float, float, float, float] | None = None,
    reducing_gap: float | None = None,
    *,
    keyed: bool = False,
) -> Image.Image:
    """At another size, before anything else is done to it, so that only small pictures are converted.

    Args:
        box: the part that is wanted; None: all of it.
        reducing_gap: as Pillow's.
        keyed: a single transparent colour of a picture without alpha counts as transparent.

    Returns:
        A picture of 8 bits a channel, in the file's own channels; palettes are resolved and wide grey is scaled.
    """
    if picture.mode in _WIDE:
        return _narrow(picture, size, box)
    picture = _averageable(picture, keyed)
    if box is None and size == picture.size:
        return picture
    return picture.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=reducing_gap)


def eight_bit(picture: Image.Image) -> Image.Image:
    """A picture of :func:`resized` in mode L or RGB; transparency is laid on white."""
    if picture.mode in ("L", "RGB"):
        return picture
    if picture.mode in ("LA", "RGBA", "La", "RGBa"):
        grey = picture.mode in ("LA", "La")
        colour = picture.convert("LA" if grey else "RGBA")
        paper = Image.new("L" if grey else "RGB", picture.size, "white")
        paper.paste(colour.convert(paper.mode), mask=colour.getchannel("A"))
        return paper
    return picture.convert("RGB")


def _averageable(picture: Image.Image, keyed: bool) -> Image.Image:
    """The same in a mode whose pixels can be averaged."""
    if picture.mode == "1":
        return picture.convert("L")
    if picture.mode == "PA" or ("transparency" in picture.info and (keyed or picture.mode == "P")):
        return picture.convert("RGBA")
    return picture.convert("RGB") if picture.mode == "P" else picture


def _narrow(picture: Image.Image, size: tuple[int, int], box: tuple[float, float, float, float] | None) -> Image.Image:
    """Wide grey values resized, then scaled to 8 bits.

    Files of 32 bits do not say their range, so it is read off the largest value of the whole picture.
    """
    sixteen = picture.mode.startswith("I;16")
    if picture.mode not in ("I", "F"):
        picture = picture.convert("I")
    top = float(np.nan_to_num(picture.getextrema()[1]))
    values = np.nan_to_num(np.asarray(picture.resize(size, Image.Resampling.BICUBIC, box=box), dtype=np.float32))
    if sixteen or 255.0 < top <= 65535.0:
        values = values / 257.0
    elif top > 65535.0:
        values = values * (255.0 / top)
    elif top <= 1.0:
        values = values * 255.0
    return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))
