"""Any captioned dataset by its source: the catalogue entry that is named, or the first that recognises it.

from trainers.data.captioned.loader import load_captioned
images = load_captioned("path/to/dataset").splits["test"]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainers.config import SceneChoice
from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest
from trainers.data.captioned.datasets import CAPTIONED
from trainers.data.captioned.wide import with_eight_bits
from trainers.data.captioned_images import CaptionedDataset
from trainers.data.sources import resolve
from trainers.parameters import parse_choice
from trainers.progress import Progress, silent
from trainers.registry import NoParameters


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
