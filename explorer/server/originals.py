"""The files behind thumbnails, for a window over the page: read where a run or the form read them, never larger than a
screen, and for a visitor of a public page only what the page offers to all, or what is theirs.
"""

from __future__ import annotations

from typing import Any

from explorer.server.image_files import data_url
from explorer.server.turns import Turns
from trainers.config import DataChoice
from trainers.data.labelled.originals import Originals
from trainers.data.picture import read_picture
from trainers.data.sources import PREFIX
from trainers.errors import DataError

LONGEST = 1600
"""Pixels of the longer side of what is sent."""


class OriginalImages:
    """Reads and shrinks the files.

    Args:
        turns: in which images are unpacked.
        public: strangers ask.
    """

    def __init__(self, turns: Turns, *, public: bool) -> None:
        self._turns = turns
        self._public = public
        self._files = Originals()

    def shown(self, choice: DataChoice, name: str, visitor: str, *, mine: bool) -> dict[str, Any]:
        """Return the file of an image of a dataset for the page.

        Args:
            name: as :meth:`trainers.data.labelled.originals.Originals.read` takes it.
            visitor: whose turn is taken.
            mine: the dataset was named by this visitor.

        Returns:
            image: a data address; words: the name and the size.

        Raises:
            DataError: it is not there, is no image, or is not this visitor's.
        """
        if self._public and not mine and choice.source.strip().startswith(f"{PREFIX}/"):
            raise DataError("Only the visitor who dropped these images here can open them.")
        data = self._files.read(choice, name)
        with self._turns.reading(visitor, data):
            picture = read_picture(data, LONGEST)
        small = f", shown at {picture.pixels.shape[1]} x {picture.pixels.shape[0]}" if picture.scale < 1 else ""
        words = f"{name}: {picture.width:,} x {picture.height:,} pixels{small}"
        return {"image": data_url(picture.pixels.transpose(2, 0, 1)), "words": words}
