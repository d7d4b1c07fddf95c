"""Names of files, classes and columns in one form, in which they are compared, joined and shown.

A letter with an accent may be one character or a letter and its accent; both look the same. Bytes of a name that are no
UTF-8 are written out, so that the page, a terminal, JSON and CSV show them alike.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from trainers.cells import encodable


def composed(name: str) -> str:
    """Return a name in Unicode's composed form (NFC); bytes that are no UTF-8 as ``\\xe9``."""
    return unicodedata.normalize("NFC", name if name.isascii() else encodable(name))


def same_name(name: str, names: Iterable[str]) -> str | None:
    """Return which of ``names`` a name is: itself, or the one that is equal in its composed form; None: none is."""
    by_form = {composed(each): each for each in names}
    return by_form.get(composed(name))
