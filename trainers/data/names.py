"""Names of files, classes and columns in one form, in which they are compared, joined and shown.

A letter with an accent may be one character or a letter and its accent; both look the same. Bytes of a name that are no
UTF-8 are written out, so that the page, a terminal, JSON and CSV show them alike.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from trainers.cells import encodable, one_line


def composed(name: str) -> str:
    """Return a name in Unicode's composed form (NFC), in one line; bytes that are no UTF-8 as ``\\xe9``."""
    return one_line(composed_text(name))


def composed_text(text: str) -> str:
    """Return a text of several lines in the form in which :func:`composed` gives names."""
    return unicodedata.normalize("NFC", text if text.isascii() else encodable(text))


def same_name(name: str, names: Iterable[str]) -> str | None:
    """Return which of ``names`` a name is: itself, or the one that is equal in its composed form; None: none is."""
    by_form = {composed(each): each for each in names}
    return by_form.get(composed(name))


def on_disk(path: Path) -> Path:
    """Return the file that a path means: itself, or the one beside it whose name is equal in its composed form."""
    if path.name.isascii() or path.exists():
        return path
    try:
        names = _names_in(path.parent, path.parent.stat().st_mtime_ns)
    except OSError:
        return path
    return path.with_name(names.get(composed(path.name), path.name))


@lru_cache(maxsize=8)
def _names_in(folder: Path, _changed: int) -> Mapping[str, str]:
    return {composed(path.name): path.name for path in folder.iterdir()}
