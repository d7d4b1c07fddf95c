"""Any captioned dataset by its source: the catalogue entry that is named, or the first that recognises it.

Any captioned dataset by its source: the catalogue entry that is named, or the first that recognises it.

from trainers.data.captioned.loader import load_captioned
images = load_captioned("path/to/dataset").splits["test"]
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trainers.config import SceneChoice
from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest
from trainers.data.captioned.datasets import CAPTIONED
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.decode import eight_bit, is_wide, orientation, resized, spans, upright
from trainers.data.image_file import UndecodableError, open_header, unpacked
from trainers.data.pixel_range import PixelRange, Spans
from trainers.data.sources import resolve
from trainers.parameters import parse_choice
from trainers.progress import Progress, silent
from trainers.registry import NoParameters

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


def load_captioned(
    source: str,
    *,
    captions_from: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> CaptionedDataset:
    """Load images with captions, and boxes where there are any.

    Args:
        source: ``drawn_scenes``, or with parameters ``drawn_scenes:bias=0.7,mention=0.9``; a folder or a Hub id with
            images; a COCO folder (``annotations/instances_*.json``) or a Flickr30k Entities folder (``Sentences``,
            ``Annotations``).
        captions_from, limit, progress: see :class:`CaptionedRequest`.

    Raises:
        DataError: with the reason and what to do.
        ParameterError: a parameter of a dataset that is made here is unknown or out of range.
    """
    descriptor, folder = named(source), None
    if descriptor is None:
        location = resolve(source)
        folder = location if isinstance(location, Path) else None
        descriptor = next(each for each in CAPTIONED.values() if each.recognises and each.recognises(folder))
    dataset = descriptor.load(
        CaptionedRequest(
            source=source,
            folder=folder,
            parameters=parameters_of(source),
            captions_from=captions_from,
            limit=limit,
            progress=progress or silent,
        )
    )
    return dataset if descriptor.recognises is None else with_eight_bits(dataset)


def load_chosen(choice: SceneChoice, progress: Progress) -> CaptionedDataset:
    """Load the images of a choice, see :func:`load_captioned`."""
    return load_captioned(choice.source, captions_from=choice.captions_from, limit=choice.limit, progress=progress)


def named(source: str) -> CaptionedDescriptor | None:
    """Return the dataset that is made here and that a source names, with parameters or without; None: none."""
    descriptor = CAPTIONED.get(source.strip().partition(":")[0])
    return descriptor if descriptor is not None and descriptor.recognises is None else None


def parameters_of(source: str) -> Any:
    """Return the checked parameters of a dataset that is made here, ``bias=0.7,mention=0.9`` behind a colon; else none.

    Raises:
        ParameterError: they cannot be read, or one is unknown or out of range.
    """
    descriptor = named(source)
    return NoParameters() if descriptor is None else descriptor.checked(parse_choice("".join(source.split()))[1])
