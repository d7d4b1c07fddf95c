"""The descriptor that makes a captioned dataset loadable, and what its ``load`` is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainers.data.captioned_images import CaptionedDataset
from trainers.progress import Progress, silent
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class CaptionedRequest:
    """A request for a captioned dataset.

    Attributes:
        source: a name of the catalogue, a folder, a zip file, or a Hub id.
        parameters: an instance of the descriptor's ``parameters``.
        folder: the folder or zip file that ``source`` names; None for the others.
        captions_from: another dataset with the captions of the same images, joined by image id; None: the same one.
        limit: at most so many images of each split; None: all.
        progress: told what is being read.
    """

    source: str
    parameters: Any
    folder: Path | None = None
    captions_from: str | None = None
    limit: int | None = None
    progress: Progress = silent


@dataclass(frozen=True, kw_only=True)
class CaptionedDescriptor(Descriptor):
    """A captioned dataset, or a way in which captioned datasets are stored.

    Attributes:
        load: reads it.
        recognises: whether a source (its folder or zip file; None for a Hub id) is stored this way; the first in the
            catalogue's order that does reads it. None: the dataset is made here, and its name is its source.
    """

    load: Callable[[CaptionedRequest], CaptionedDataset]
    recognises: Callable[[Path | None], bool] | None = None
