"""A photo of the user's own, ready for boxes and fills: upright RGB of bounded size, with notes on what was done."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageCms, ImageOps

from trainers.data.decode import eight_bit
from trainers.errors import DataError

MAX_PIXELS = 40_000_000
MIN_SIDE = 16
LONGEST = 512
"""Fills cost time per pixel; beyond this side they gain nothing that a retrieval model sees."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A decoded photo.

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
        data: JPEG, PNG, WebP, GIF, TIFF or whatever Pillow reads.
        longest: the longer side is at most this; smaller photos keep their size.

    Raises:
        DataError: no picture, cut short, above 40 million pixels or a side below 16.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remark on large files; ours is the stricter limit
        try:
            picture = Image.open(io.BytesIO(data))
        except Image.DecompressionBombError as error:
            raise DataError(f"This picture is larger than {MAX_PIXELS:,} pixels. Shrink it first.") from error
        except Exception as error:
            raise DataError("This file is no picture that can be read. Give a JPEG, PNG or WebP.") from error
        with picture:
            _check_size(picture)
            notes = []
            if getattr(picture, "is_animated", False):
                notes.append(f"Only the first of {picture.n_frames} frames is used.")
            try:
                if picture.format == "JPEG":
                    full = picture.size
                    picture.draft(None, (longest, longest))
                    shrunk = picture.size != full
                else:
                    full, shrunk = picture.size, False
                turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
                upright = ImageOps.exif_transpose(picture)
                colour = _colour(upright, notes)
            except Exception as error:
                raise DataError(f"This picture is damaged or cut short and cannot be unpacked ({error}).") from error
    width, height = full[::-1] if turned else full
    pixels = _shrink(colour, width, height, longest, shrunk)
    return Picture(pixels=pixels, scale=pixels.shape[1] / width, width=width, height=height, notes=tuple(notes))


def _check_size(picture: Image.Image) -> None:
    width, height = picture.size
    if width * height > MAX_PIXELS:
        raise DataError(f"This picture has {width:,} x {height:,} pixels, above {MAX_PIXELS:,}. Shrink it first.")
    if min(width, height) < MIN_SIDE:
        raise DataError(f"A picture of at least {MIN_SIDE} pixels a side is needed; {width} x {height} came.")


def _colour(picture: Image.Image, notes: list[str]) -> Image.Image:
    if picture.mode == "CMYK":
        profile = picture.info.get("icc_profile")
        if profile:
            try:
                source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
                return ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
            except ImageCms.PyCMSError:
                notes.append("Its colour profile is damaged; colours are approximate.")
        else:
            notes.append("A print (CMYK) picture without a colour profile: colours are approximate.")
    alpha = picture.mode in ("LA", "RGBA", "PA") or "transparency" in picture.info
    if alpha:
        notes.append("Transparent parts are laid on white.")
        picture = picture.convert("RGBA")
    return eight_bit(picture).convert("RGB")


def _shrink(picture: Image.Image, width: int, height: int, longest: int, drafted: bool) -> np.ndarray:
    ratio = min(1.0, longest / max(width, height))
    size = (max(1, round(width * ratio)), max(1, round(height * ratio)))
    if ratio < 1 or drafted:
        picture = picture.resize(size, Image.Resampling.BICUBIC)
    return np.array(picture, dtype=np.uint8)
