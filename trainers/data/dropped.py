"""Images that somebody dropped on the page: kept below the disk cache, and named ``dropped/ID/NAME`` in settings.

The id is drawn at random, so that only who was told it can name them. They are used as a folder or a zip file is.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from trainers.data import settings
from trainers.errors import DataError

PREFIX = "dropped"
_NAMED = re.compile(rf"{PREFIX}/([0-9a-f]{{32}})/([^/\\\0]{{1,200}})")


def home() -> Path | None:
    """Return the folder that holds them; None: nothing is kept on disk."""
    cache = settings.cache_folder()
    return None if cache is None else cache / PREFIX


def path_of(source: str) -> Path | None:
    """Return the folder or zip file that a source names, if it names dropped images, and note that it is used.

    Raises:
        DataError: they are no longer there.
    """
    named, folder = _NAMED.fullmatch(source.strip()), home()
    if named is None or named[2] in (".", ".."):
        return None
    path = None if folder is None else folder / named[1] / named[2]
    if path is None or path.is_symlink() or not path.exists():
        raise DataError(f"The images {named[2]!r} that were dropped here are no longer kept. Drop them again.")
    with suppress(OSError):
        os.utime(path.parent)
    return path
