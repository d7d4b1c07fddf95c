"""The datasets that are open: the drawn scenes always, and the last few that somebody opened; each with its gallery."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from explorer.server.http import GoneError
from trainers.data.captioned.loader import load_captioned, named
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.lru_cache import Cache
from trainers.data.sources import resolve
from trainers.errors import DataError
from trainers.object_removal.captions import language_note
from trainers.object_removal.gallery import CaptionGallery, gather
from trainers.object_removal.vocabulary import Matcher, load_words, matcher_of
from trainers.progress import Progress, silent

DRAWN = "drawn_scenes"
KEPT = 3
"""Datasets of visitors that stay open; the one used longest ago is closed first."""
MOST_IMAGES = 5000
PUBLIC_IMAGES = 1000
"""Images of each split that are read, on one's own machine and on a public page."""
MOST_CAPTIONS = 20_000
"""Captions of one gallery: every model has to encode all of them."""
_ODD = re.compile(r"[^A-Za-z0-9]+")
Load = Callable[..., CaptionedDataset]


@dataclass(frozen=True, kw_only=True)
class OpenDataset:
    """An open dataset.

    Attributes:
        name: short and safe in an address; does not tell where the dataset lies.
        source, captions_from, limit: what it was opened with.
        data: what was read.
        notes: for whoever opens it, in plain words.
    """

    name: str
    source: str
    captions_from: str | None
    limit: int | None
    data: CaptionedDataset
    notes: tuple[str, ...]
    _gathering: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def drawn(self) -> bool:
        """Whether the program drew the images itself."""
        return named(self.source) is not None

    @cached_property
    def scenes(self) -> Sequence[CaptionedImage]:
        """The images that are shown and scored: the test split if there is one."""
        return self.data.splits.get(self.data.test_split, ())

    @cached_property
    def matcher(self) -> Matcher:
        """Says which classes its captions name: by annotation, or by the word table with the dataset's classes."""
        return matcher_of(self.data, load_words())

    @property
    def gallery(self) -> CaptionGallery:
        """The captions that may be retrieved, those of the shown split first; gathered on first use.

        Raises:
            DataError: it has no captions.
        """
        with self._gathering:  # two models often want it at once
            return self._gallery

    @cached_property
    def _gallery(self) -> CaptionGallery:
        return gather(self.data, self.matcher, first=self.data.test_split, most=MOST_CAPTIONS)

    def about(self) -> dict[str, Any]:
        """Describe it for the page."""
        licence = self.data.licence
        known = f" Licence: {licence}." if licence and licence != "unknown" else ""
        return {
            "name": self.name,
            "title": self.data.title,
            "note": f"{len(self.scenes):,} images of the {self.data.test_split} split.{known}",
            "images": len(self.scenes),
            "classes": list(self.data.classes),
            "notes": list(self.notes),
        }


class Datasets:
    """Opens datasets and keeps the last few.

    Args:
        public: fewer images are read of each.
        load: reads a dataset.
        dropped: called with the name of a dataset that was closed.
    """

    def __init__(
        self, *, public: bool = False, load: Load = load_captioned, dropped: Callable[[str], None] | None = None
    ) -> None:
        self._most = PUBLIC_IMAGES if public else MOST_IMAGES
        self._load = load
        closed = dropped or (lambda _name: None)
        self._open: Cache[OpenDataset] = Cache(limit=KEPT, dropped=lambda gone: closed(gone.name))
        self._drawn: OpenDataset | None = None
        self._reading = threading.Lock()  # reading takes memory, and two visitors often want the same dataset
        self._drawing = threading.Lock()  # a dataset that takes minutes to open must not delay the drawn one

    def get(self, name: str) -> OpenDataset:
        """Return an open dataset.

        Raises:
            GoneError: it is not open, or no longer.
            DataError: the drawn scenes cannot be had.
        """
        if name == DRAWN:
            return self.drawn()
        dataset = self._open.find(name)
        if dataset is not None:
            return dataset
        raise GoneError(f"The dataset {str(name)[:80]!r} is not open, or no longer: open it again.")

    def listed(self) -> list[OpenDataset]:
        """List the drawn scenes, then the others, the one used last first."""
        return [self.drawn(), *self._open.kept()[::-1]]

    def drawn(self) -> OpenDataset:
        """Return the drawn scenes, made on first use."""
        with self._drawing:
            if self._drawn is None:
                self._drawn = _opened(DRAWN, DRAWN, None, None, self._load(DRAWN))
            return self._drawn

    def name(self, source: str, captions_from: str | None = None, limit: int | None = None) -> str:
        """Return the name that a dataset has or would have once it is open."""
        if source.strip() == DRAWN:
            return DRAWN
        return _name(source, captions_from, min(limit or self._most, self._most))

    def open(
        self, source: str, captions_from: str | None = None, limit: int | None = None, progress: Progress = silent
    ) -> OpenDataset:
        """Open a dataset of the Hub or of a folder; slow. The same one twice is read once.

        Args:
            progress: told what is being read; may raise to give up.

        Raises:
            DataError: with the reason and what to do.
        """
        if source.strip() == DRAWN:
            return self.drawn()
        for origin in (source, captions_from or DRAWN):
            if named(origin) is None:
                resolve(origin)  # refuses what may not be opened here
        limit = min(limit or self._most, self._most)
        name = self.name(source, captions_from, limit)

        def read() -> OpenDataset:
            progress("opening the dataset", 0.0)
            data = self._load(source, captions_from=captions_from, limit=limit, progress=progress)
            progress("checking the captions", 1.0)
            return _with_notes(_opened(name, source, captions_from, limit, data), limit)

        with self._reading:
            return self._open.get(name, read)


def _opened(
    name: str, source: str, captions_from: str | None, limit: int | None, data: CaptionedDataset
) -> OpenDataset:
    return OpenDataset(name=name, source=source, captions_from=captions_from, limit=limit, data=data, notes=data.notes)


def _with_notes(made: OpenDataset, limit: int) -> OpenDataset:
    counts = [len(scenes) for scenes in made.data.splits.values()]
    if not any(counts):
        raise DataError("This dataset has no images that can be shown. Give another one.")
    notes = list(made.notes)
    if max(counts) >= limit:
        notes.append(f"At most {limit:,} images of each split are read here.")
    captions = [caption for scene in made.scenes[:1000] for caption in scene.captions][:1000]
    said = language_note(captions, made.matcher)
    return replace(made, notes=(*notes, *([said] if said is not None else [])))


def _name(source: str, captions_from: str | None, limit: int) -> str:
    """Name a dataset by the last part of its source and a digest of all of it: visitors are told no path."""
    last = source.strip().rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
    plain = _ODD.sub("-", last).strip("-")[:40] or "dataset"
    mark = hashlib.sha256(f"{source.strip()}\n{captions_from}\n{limit}".encode()).hexdigest()[:10]
    return f"{plain}-{mark}"
