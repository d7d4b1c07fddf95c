"""Encoded image bytes to small square uint8 arrays: upright, 8-bit, without alpha, centre-cropped, antialiased."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from trainers.data.image_file import (
    ACCEPTED,
    LARGEST_FILE,
    LOW_BYTES,
    UndecodableError,
    is_deep,
    open_header,
    unpacked,
)
from trainers.data.pixel_range import UNDECIDED, PixelRange, Spans
from trainers.errors import DataError

GREY_MODES = frozenset({"1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F"})
WIDE = GREY_MODES - {"1", "L", "LA"}
"""Modes of grey images of more than 8 bits."""
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
_LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601, as Pillow


class WideFoundError(Exception):
    """An image of more than 8 bits a channel was met in a dataset whose range of values is not decided."""


def header(data: bytes) -> tuple[int, int, bool]:
    """Read width, height and whether it is grey, without unpacking the pixels.

    Raises:
        UndecodableError: not an image.
    """
    with open_header(data) as image:
        return image.width, image.height, image.mode in GREY_MODES


def is_wide(data: bytes) -> bool:
    """Return whether an image has more than 8 bits a channel; what is no image has not."""
    try:
        with open_header(data) as image:
            return image.mode in WIDE or is_deep(image)
    except UndecodableError:
        return False


def spans(data: bytes) -> Spans:
    """Return the smallest and largest value of an image of more than 8 bits; of none where it is another, or damaged.

    Values that are no finite numbers do not count.
    """
    try:
        with open_header(data) as image:
            if image.mode not in WIDE and not is_deep(image):
                return Spans()
            with unpacked(image):
                return _spans(image)
    except Exception:  # damaged files make Pillow raise almost anything; they are counted when they are decoded
        return Spans()


def square(data: bytes, side: int, pixels: PixelRange | None = None) -> np.ndarray:
    """Decode to uint8 [1, side, side] if the file is grey, else [3, side, side].

    The image's orientation mark is applied, the centre square is cut out and resized with a bicubic filter that
    covers the source area. Transparency is laid on white, values of more than 8 bits are scaled to 8.

    Args:
        pixels: the range of such values; None: that of this image alone.

    Raises:
        UndecodableError: not an image, damaged, cut short or too large.
        WideFoundError: the range is undecided, and the image needs it.
    """
    try:
        with open_header(data) as image:
            if pixels is UNDECIDED and (image.mode in WIDE or is_deep(image)):
                raise WideFoundError
            with unpacked(image, side * 3 // 2):  # some room is left for the resize
                width, height = image.size
                edge = min(width, height)
                left, top = (width - edge) / 2, (height - edge) / 2
                box = (left, top, left + edge, top + edge)
                small = resized(image, (side, side), box, reducing_gap=3.0, pixels=pixels)
                made = np.asarray(eight_bit(upright(small, orientation(image))), dtype=np.uint8)
    except (UndecodableError, WideFoundError):
        raise
    except Exception as error:
        raise UndecodableError(str(error)) from error
    return made[None] if made.ndim == 2 else np.ascontiguousarray(made.transpose(2, 0, 1))


def decode_query(data: bytes, *, channels: int, side: int, pixels: PixelRange | None = None) -> Tensor:
    """Decode an image upright, 8-bit, without alpha, its centre square resized, as the images of a run are.

    Of an animation the first frame counts. A grey image is repeated over three channels; of a colour image that an
    encoder of grey images is to see, the luminance is taken.

    Args:
        data: the content of an image file.
        channels: that the encoder takes, 1 or 3.
        side: of the square images, pixels.
        pixels: the values that are black and white in images of more than 8 bits, as the run has them; None: as this
            image has them.

    Returns:
        uint8 ``[1, C, side, side]``.

    Raises:
        DataError: this is no image that can be used; says why.
    """
    if not data:
        raise DataError(f"The query is empty. Give a {ACCEPTED} file.")
    if len(data) > LARGEST_FILE:
        raise DataError(f"The query has more than {LARGEST_FILE / 1e6:,.0f} MB. Shrink the image first.")
    try:
        decoded = torch.tensor(square(data, side, pixels))
    except UndecodableError as error:
        text = str(error)
        raise DataError(text if text.endswith(".") else f"The query cannot be decoded ({text}).") from error
    return with_channels(decoded[None], channels)


def with_channels(images: Tensor, channels: int) -> Tensor:
    """Convert images uint8 ``[N, 1 or 3, H, W]`` to grey or to colour, as an encoder takes them."""
    if images.shape[1] == channels:
        return images
    if channels == 3:
        return images.expand(-1, 3, -1, -1)
    grey = np.tensordot(images.numpy(), np.array(_LUMA, np.float32), axes=(1, 0))
    return torch.from_numpy(np.rint(grey).astype(np.uint8))[:, None]


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
    pixels: PixelRange | None = None,
) -> Image.Image:
    """Resize an image before anything else is done to it, so that only small images are converted.

    Args:
        box: the part that is wanted; None: all of it.
        reducing_gap: as Pillow's.
        keyed: a single transparent colour of an image without alpha counts as transparent.
        pixels: the range of values of more than 8 bits; None: that of this image alone.

    Returns:
        An image of 8 bits a channel, in the file's own channels; palettes are resolved and wide values are scaled.
    """
    if image.mode in WIDE:
        return _narrow(image, size, box, pixels)
    if LOW_BYTES in image.info:
        image = _narrow_colour(image, pixels)
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


def _narrow(
    image: Image.Image,
    size: tuple[int, int],
    box: tuple[float, float, float, float] | None,
    pixels: PixelRange | None,
) -> Image.Image:
    """Resize wide grey values, then scale them to 8 bits."""
    pixels = pixels or _spans(image).range or UNDECIDED
    if image.mode == "F":
        image = _finite(image, pixels)
    elif image.mode != "I":
        image = image.convert("I")
    return Image.fromarray(pixels.eight_bit(np.asarray(image.resize(size, Image.Resampling.BICUBIC, box=box))))


def _finite(image: Image.Image, pixels: PixelRange) -> Image.Image:
    """Replace values that are no finite numbers, which would spread to their neighbours."""
    values = np.asarray(image)
    if np.isfinite(values).all():
        return image
    return Image.fromarray(np.nan_to_num(values, nan=0.0, posinf=pixels.high, neginf=pixels.low).astype(np.float32))


def _narrow_colour(image: Image.Image, pixels: PixelRange | None) -> Image.Image:
    """Scale a colour image of 16 bits a channel to 8 bits; of its transparency the upper bytes are kept."""
    pixels = pixels or _spans(image).range or UNDECIDED
    table = pixels.eight_bit(np.arange(65_536))
    bands = [Image.fromarray(table[values]) for values in _sixteen(image)]
    bands += [image.getchannel("A")] if image.mode == "RGBA" else []
    return Image.merge(image.mode, bands)


def _sixteen(image: Image.Image) -> Iterator[np.ndarray]:
    """Yield red, green and blue of a colour image of 16 bits a channel, uint16 ``[H, W]``."""
    low: Image.Image = image.info[LOW_BYTES]
    for band in "RGB":
        yield np.asarray(image.getchannel(band)).astype(np.uint16) << 8 | np.asarray(low.getchannel(band))


def _spans(image: Image.Image) -> Spans:
    """Return the smallest and largest value of a wide image that is unpacked."""
    if LOW_BYTES in image.info:
        return replace(
            Spans.over(Spans(images=1, low=float(band.min()), high=float(band.max())) for band in _sixteen(image)),
            images=1,
        )
    if image.mode == "F":
        values = np.asarray(image)
        values = values[np.isfinite(values)]
        return Spans(images=1, low=float(values.min()), high=float(values.max())) if values.size else Spans()
    if image.mode not in WIDE:
        return Spans()
    extrema: Any = (image if image.mode == "I" else image.convert("I")).getextrema()
    return Spans(images=1, low=float(extrema[0]), high=float(extrema[1]))
