"""The descriptor that makes a captioned dataset loadable, what its ``load`` is given, and broader classes of a list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
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


FILE = "categories.json"
_LARGEST = 10_000_000  # bytes


def broader_classes(categories: Iterable[Any]) -> dict[str, str]:
    """Map class to supercategory in a list of entries with ``name`` and ``supercategory``; others are left out."""
    return {
        entry["name"]: entry["supercategory"]
        for entry in categories
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("supercategory"), str)
    }


def listed_beside(folder: Path | None) -> dict[str, str]:
    """Read the same from the file ``categories.json`` in a folder; empty where there is none that can be read."""
    path = None if folder is None else folder / FILE
    try:
        if path is None or not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        categories = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return broader_classes(categories) if isinstance(categories, list) else {}
