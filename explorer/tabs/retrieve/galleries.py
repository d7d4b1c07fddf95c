"""The galleries that are open: what is in them, which of their images have a class, and their images."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.server.http import GoneError
from explorer.server.image_files import cut, data_url, encoded
from explorer.server.library import MEGABYTE, Library
from explorer.server.originals import OriginalImages
from trainers.config import DataChoice
from trainers.data import SOURCES
from trainers.data.lru_cache import Cache
from trainers.errors import DataError
from trainers.hierarchy import severity_words
from trainers.parameters import Choice
from trainers.progress import Progress, silent
from trainers.retrieval.encoders import images_of
from trainers.retrieval.galleries import GALLERIES, Gallery
from trainers.retrieval.retriever import Retriever

STORED = "probe"
"""The gallery whose labels and thumbnails lie in the run folder: it is open without being read."""
PUBLIC_IMAGES = 5000
"""Images of each part of another dataset that are read on a public page."""
_OPEN = 8
_IMAGES = 24 * MEGABYTE


class Galleries:
    """Opens galleries of runs and shows what is in them.

    Args:
        originals: reads the files of images.
        public: other datasets are those of the catalogue, and of bounded size.
    """

    def __init__(self, library: Library, retriever: Retriever, originals: OriginalImages, *, public: bool) -> None:
        self._library = library
        self._retriever = retriever
        self._originals = originals
        self._public = public
        self._open: Cache[Gallery] = Cache(limit=_OPEN)
        self._images: Cache[bytes] = Cache(limit=_IMAGES, cost=len)

    def allowed(self, choice: Choice) -> Choice:
        """Return a choice of gallery if it may be searched here.

        Raises:
            DataError: it may not be opened on a public page.
        """
        if not self._public or choice.name != "dataset":
            return choice
        source = choice.parameters.get("source", "")
        if source and source not in SOURCES:
            raise DataError("On a public page a gallery is a dataset of the catalogue. Choose one of them.")
        most = min(choice.parameters.get("max_images", PUBLIC_IMAGES), PUBLIC_IMAGES)
        return Choice(name=choice.name, parameters={**choice.parameters, "max_images": most})

    def is_open(self, run: str, choice: Choice) -> bool:
        """Return whether a gallery can be searched without being read first."""
        return choice.name == STORED or self._key(run, choice) in self._open

    def open(self, run: str, choice: Choice, progress: Progress = silent) -> Gallery:
        """Read a gallery; slow, unless it is open.

        Raises:
            UserError: there is none, or it cannot be read here.
        """
        folder = self._library.get(run).folder
        return self._open.get(self._key(run, choice), lambda: self._retriever.gallery(folder, choice, progress))

    def get(self, run: str, choice: Choice) -> Gallery:
        """Return an open gallery.

        Raises:
            GoneError: it is not open, or no longer.
            RunError: there is no such run, or it has no images yet.
        """
        if not self.is_open(run, choice):
            raise GoneError("This gallery is not open, or no longer: choose it again.")
        return self.open(run, choice)

    def about(self, gallery: Gallery) -> dict[str, Any]:
        """Describe a gallery for the page."""
        return {
            "name": gallery.name,
            "title": gallery.title,
            "count": len(gallery),
            "levels": list(gallery.hierarchy.levels),
            "words": severity_words(gallery.hierarchy),
            "labelled": gallery.labelled,
            "notes": list(gallery.notes),
        }

    def rows(
        self, run: str, choice: Choice, text: str, offset: int, count: int, row: int | None = None
    ) -> dict[str, Any]:
        """List the images of an open gallery that have a class with ``text`` in its name, a page of them.

        Args:
            row: an image whose place among them is wanted.

        Returns:
            total: how many there are; rows: ``[row, names of its classes, finest first]`` of each on the page.
            place: of ``row``, None if it is not among them.
        """
        gallery = self.get(run, choice)
        matches = matching(gallery, text)
        at = None if row is None else int(np.searchsorted(matches, row))
        if at is not None and (at == len(matches) or matches[at] != row):
            at = None
        page = matches[offset : offset + count].tolist()
        names = gallery.hierarchy.names
        classes = [
            [names[level][label] for level, label in enumerate(gallery.labels[image].tolist())] for image in page
        ]
        known = gallery.labelled
        rows = [[image, its if known else []] for image, its in zip(page, classes, strict=True)]
        return {"total": len(matches), "rows": rows, "place": at}

    def objects(self, run: str, choice: Choice, row: int) -> dict[str, Any]:
        """Return the classes whose objects are known in an image, and the share of it that each covers.

        Raises:
            UserError: there is no such gallery or image, or it cannot be read.
        """
        known = self._retriever.known_objects(self._library.get(run).folder, choice, row)
        return {"objects": [{"class": name, "share": round(share, 4)} for name, share in known.items()]}

    def image(self, run: str, choice: Choice, row: int, side: int) -> bytes:
        """Return an image of an open gallery as a JPEG, at most ``side`` pixels wide; those on the maps as thumbnails.

        Raises:
            GoneError: the gallery is not open, or has no such image.
            UserError: it cannot be read.
        """
        key = (*self._key(run, choice), row, side)
        return self._images.get(key, lambda: encoded(self._pixels(run, choice, row), side))

    def original(self, run: str, choice: Choice, row: int, visitor: str, *, mine: bool) -> dict[str, Any]:
        """Return the file of an image of an open gallery, see :meth:`OriginalImages.shown`; where there is none the
        image as it is kept here, and why.

        Raises:
            GoneError: as :meth:`image`.
        """
        try:
            return self._originals.shown(*self._file(run, choice, row), visitor, mine=mine)
        except DataError as error:
            kept = data_url(self._pixels(run, choice, row))
            return {"image": kept, "words": f"{error} It is shown as it is kept here."}

    def _file(self, run: str, choice: Choice, row: int) -> tuple[DataChoice, str]:
        """Return the dataset of an image, as the run read it, and the name of its file."""
        opened = self._library.get(run)
        if choice.name == STORED:
            names = opened.probe.files if opened.probe else ()
            source = images_of(opened.folder) if names else None
        else:
            gallery = self.get(run, choice)
            _check_row(row, len(gallery), gallery.title)
            source, names, row = gallery.choice, gallery.files, int(gallery.rows[row])
        if not isinstance(source, DataChoice) or row >= len(names) or not names[row]:
            raise DataError("This image has no file of its own.")
        return source, names[row]

    def _pixels(self, run: str, choice: Choice, row: int) -> np.ndarray:
        """Return an image as it is kept here, uint8 ``[C, S, S]``."""
        if choice.name != STORED:
            gallery = self.get(run, choice)
            _check_row(row, len(gallery), gallery.title)
            return gallery.image(row).numpy()
        opened = self._library.get(run)
        probe = opened.probe
        if probe is None:
            raise GoneError(f"Run {run} has no images yet; they are there once its dataset is read.")
        _check_row(row, len(probe.rows), "Images on the maps")
        number, tile = divmod(row, probe.columns**2)
        return cut(opened.folder.sheet(number), probe.columns, probe.tile, tile)

    def _key(self, run: str, choice: Choice) -> tuple[str, str, str]:
        parameters = GALLERIES[choice.name].checked(choice.parameters) if choice.name in GALLERIES else None
        return run, choice.name, repr(parameters)


def _check_row(row: int, count: int, title: str) -> None:
    if not 0 <= row < count:
        raise GoneError(f"{title}: {count:,} images, numbered from 0; there is no {row}.")


def matching(gallery: Gallery, text: str) -> np.ndarray:
    """Return rows int64 of images with a class that has ``text`` in its name, on any level; all for no text."""
    wanted = text.strip().casefold()
    if not wanted:
        return np.arange(len(gallery))
    hit = np.zeros(len(gallery), bool)
    for level, names in enumerate(gallery.hierarchy.names if gallery.labelled else ()):
        hit |= np.array([wanted in name.casefold() for name in names], bool)[gallery.labels[:, level]]
    return np.flatnonzero(hit)
