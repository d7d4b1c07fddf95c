"""The file behind an image of a dataset, by the name under which the dataset itself lists it: no name is a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trainers.config import DataChoice
from trainers.data import named
from trainers.data.labelled import hub
from trainers.data.labelled.loader import open_source
from trainers.data.labelled.opening import OpenedDataset, open_folder
from trainers.data.labelled.table import SplitTable
from trainers.data.lru_cache import Cache
from trainers.data.sources import resolve
from trainers.errors import DataError
from trainers.progress import silent

_OPEN = 2  # datasets that are kept open
_Places = dict[str, list[tuple[SplitTable, str, int]]]


class Originals:
    """Opens datasets as they are on this machine, and keeps the last ones open; nothing is downloaded."""

    def __init__(self) -> None:
        self._open: Cache[_Places] = Cache(limit=_OPEN)

    def read(self, choice: DataChoice, name: str) -> bytes:
        """Return the file of an image.

        Args:
            choice: the dataset; only what decides which files there are is looked at.
            name: of the image, as :attr:`trainers.data.base.ImageSet.names` has it.

        Raises:
            DataError: the dataset is not on this machine, may not be opened here, or has no such image, or several.
        """
        descriptor = named(choice.source)
        if descriptor is not None and descriptor.pinned is None:
            raise DataError(f"{descriptor.title} has no files.")
        plain = choice if descriptor is None or descriptor.pinned is None else descriptor.pinned(choice)
        parts = ("source", "subset", "revision", "name_encoding", "image_column")
        plain = replace(DataChoice(), **{part: getattr(plain, part) for part in parts})
        try:
            resolve(plain.source)  # it may be gone since it was opened
        except DataError:
            self._open.drop(plain)
            raise
        places = self._open.get(plain, lambda: _listed(plain)).get(name, ())
        found = {data for table, column, row in places if (data := table.images(column, np.array([row]))[0])}
        if len(found) != 1:
            why = "which of several it is, is not known" if found else "it is not there any more, or too large"
            raise DataError(f"{name[:120]!r} cannot be opened: {why}.")
        return found.pop()


def _listed(choice: DataChoice) -> _Places:
    """Return where in the tables of a dataset each named image is."""
    opened = _opened(choice)
    if opened.sample is not None:
        raise DataError(f"The files of {choice.source[:120]!r} are not on this machine.")
    places: _Places = {}
    for table in opened.read(silent).tables.values():
        for column in [choice.image_column] if choice.image_column else table.image_columns[:1]:
            for row, name in enumerate(table.names(column, np.arange(len(table)))):
                if name:
                    places.setdefault(name, []).append((table, column, row))
    return places


def _opened(choice: DataChoice) -> OpenedDataset:
    location = resolve(choice.source)
    fetched = None if isinstance(location, Path) else hub.fetched_folder(location, choice.revision)
    return open_source(choice) if fetched is None else open_folder(fetched, None, choice.name_encoding)
