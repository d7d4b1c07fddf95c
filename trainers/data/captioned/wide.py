"""Captioned images of more than 8 bits a channel: handed on with 8 bits, by one range for the dataset."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.decode import eight_bit, is_wide, orientation, resized, spans, upright
from trainers.data.image_file import UndecodableError, open_header, unpacked
from trainers.data.pixel_range import PixelRange, Spans

_LOOKED_AT = 32  # headers that show whether there are such images
_SPANNED = 300  # images that decide the range


def with_eight_bits(dataset: CaptionedDataset) -> CaptionedDataset:
    """Return a dataset whose images of more than 8 bits are scaled by the range of values of them all."""
    images = [image for split in dataset.splits.values() for image in split]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks about odd files
        if not any(is_wide(_read(image)) for image in _spread(images, _LOOKED_AT)):
            return dataset
        looked = _spread(images, _SPANNED)
        found = Spans.over(spans(_read(image)) for image in looked)
    pixels = found.range
    if pixels is None:
        return dataset
    splits = {
        name: tuple(replace(image, load=partial(_narrowed, image.load, pixels)) for image in split)
        for name, split in dataset.splits.items()
    }
    return replace(dataset, splits=splits, notes=(*dataset.notes, pixels.note(found, len(looked), len(images))))


def _spread(images: Sequence[CaptionedImage], most: int) -> list[CaptionedImage]:
    if not images:
        return []
    rows = np.unique(np.linspace(0, len(images) - 1, min(len(images), most)).astype(np.int64))
    return [images[row] for row in rows]


def _read(image: CaptionedImage) -> bytes:
    return image.load() or b""


def _narrowed(load: Callable[[], bytes | None], pixels: PixelRange) -> bytes | None:
    """Return an encoded image, of more than 8 bits as an upright PNG of 8."""
    data = load()
    if data is None or not is_wide(data):
        return data
    try:
        with open_header(data) as image, unpacked(image):
            narrow = upright(eight_bit(resized(image, image.size, pixels=pixels)), orientation(image))
    except (UndecodableError, OSError, ValueError):
        return data  # what is wrong with it is said where it is read
    out = io.BytesIO()
    narrow.save(out, "png", compress_level=1)
    return out.getvalue()
