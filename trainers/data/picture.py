"""An image of the user's own, ready for boxes and fills: upright RGB of bounded size, with notes on what was done."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageCms

from trainers.data.decode import SIDEWAYS, eight_bit, orientation, resized, upright
from trainers.data.image_file import open_header, unpacked
from trainers.errors import DataError, UserError

MIN_SIDE = 16
LONGEST = 512
"""Fills cost time per pixel; beyond this side they gain nothing that a retrieval model sees."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A decoded image.

    Attributes:
        pixels: uint8 ``[H, W, 3]``, upright.
        scale: pixels here per pixel of the upright original; multiply boxes by it.
        width, height: of the upright original.
        notes: plain sentences about what was changed.
    """

    pixels: np.ndarray
    scale: float
    width: int
    height: int
    notes: tuple[str, ...]


def read_picture(data: bytes, longest: int = LONGEST) -> Picture:
    """Decode the bytes of an image file.

    Args:
        data: a file of one of the formats of :mod:`trainers.data.image_file`.
        longest: the longer side is at most this; smaller images keep their size.

    Raises:
        DataError: no picture, cut short, more bytes than may be unpacked, or a side below 16.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on odd files; what cannot be used is refused
        try:
            with open_header(data) as picture:
                return _read(picture, longest)
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"This picture is damaged or cut short and cannot be unpacked ({error}).") from error


def _read(picture: Image.Image, longest: int) -> Picture:
    if min(picture.size) < MIN_SIDE:
        width, height = picture.size
        raise DataError(f"An image of at least {MIN_SIDE} pixels a side is needed; got {width} x {height}.")
    notes = ["It has several frames; only the first of them is used."] if _is_animated(picture) else []
    full = picture.size
    with unpacked(picture, longest):
        if picture.format == "TIFF":  # Pillow turns these itself while it unpacks them
            full = picture.size
        ratio = min(1.0, longest / max(full))
        small = resized(picture, (max(1, round(full[0] * ratio)), max(1, round(full[1] * ratio))), keyed=True)
        mark = orientation(picture)
    width, height = full[::-1] if mark in SIDEWAYS else full
    pixels = np.array(_colour(upright(small, mark), notes), dtype=np.uint8)
    return Picture(pixels=pixels, scale=pixels.shape[1] / width, width=width, height=height, notes=tuple(notes))


def _is_animated(picture: Image.Image) -> bool:
    # how many frames there are is not asked: some formats count them by walking through the whole file
    return bool(getattr(picture, "is_animated", False))


def _colour(picture: Image.Image, notes: list[str]) -> Image.Image:
    if picture.mode == "CMYK":
        if picture.info.get("icc_profile"):
            try:
                return _from_print(picture)
            except Exception:  # a broken profile makes Pillow raise OSError, PyCMSError, ...; the image is still good
                notes.append("Its colour profile is damaged; colours are approximate.")
        else:
            notes.append("A print (CMYK) picture without a colour profile: colours are approximate.")
    if picture.mode in ("LA", "La", "RGBA", "RGBa"):
        notes.append("Transparent parts are laid on white.")
    return eight_bit(picture).convert("RGB")


def _from_print(picture: Image.Image) -> Image.Image:
    """Convert to RGB by the file's own profile."""
    source = ImageCms.ImageCmsProfile(io.BytesIO(picture.info["icc_profile"]))
    made = ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    assert made is not None  # only a transform in place returns nothing
    return made


def check_image(pixels: np.ndarray) -> None:
    """Refuse what is no colour image.

    Raises:
        UserError: it is not uint8 ``[H, W, 3]`` with at least one pixel.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise UserError(f"An image uint8 [H, W, 3] is needed; got {pixels.dtype} {list(pixels.shape)}.")
