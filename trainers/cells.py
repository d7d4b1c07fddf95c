"""Values that other programs read: texts that no spreadsheet runs and every encoding has, numbers that JSON has.

Also numbers of things in sentences, 1 class was, 2 classes were, and lists of names in them.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the full-width forms of the first, which spreadsheets take for them."""


_SEVERAL = {"class": "classes", "query": "queries", "is": "are", "was": "were", "has": "have", "lies": "lie"}
_BREAKS = {code: " " for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


def one_line(text: str) -> str:
    """Replace line breaks, tabs and other control characters, which would break a table, by blanks."""
    return text.translate(_BREAKS) if not text.isprintable() else text


def encodable(text: str) -> str:
    """Make a text that UTF-8 has: bytes of a file name that are not UTF-8 are written out, such as ``\\xe9``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_written_out(letter) if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    return text


def _for_codec(error: UnicodeError) -> tuple[str, int]:
    """Write out what an encoding lacks; a handler of errors of Python's codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    odd = error.object[error.start : error.end]
    escaped = encodable(odd).encode(error.encoding, "backslashreplace").decode(error.encoding)
    return escaped, error.end


WRITTEN_OUT = "rankscope_written_out"
"""Name of the handler for ``errors=`` that writes as :func:`encodable` what an encoding lacks."""
codecs.register_error(WRITTEN_OUT, _for_codec)


def _written_out(letter: str) -> str:
    """Write out half of a pair of code units; how Python keeps a byte that is not UTF-8 is one."""
    code = ord(letter)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def plain_cell(text: str) -> str:
    """Make a text that no spreadsheet reads as a formula: an apostrophe is put before the characters that start one."""
    return encodable(f"'{text}" if text.startswith(_FORMULA) else text)


def plain_cells(row: Iterable[Any]) -> list[Any]:
    """Make a row of a CSV table whose texts are :func:`plain_cell`."""
    return [plain_cell(cell) if isinstance(cell, str) else cell for cell in row]


def csv_text(head: Sequence[str], lines: Iterable[Iterable[Any]]) -> str:
    """Write a heading and its lines as CSV; cells that are NaN are empty, and no text is read as a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(plain_cells(head))
    for line in lines:
        writer.writerow(plain_cells("" if isinstance(cell, float) and math.isnan(cell) else cell for cell in line))
    return file.getvalue()


def finite_number(value: float | None) -> float | None:
    """Return the value, or None: JSON has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None


def counted(count: int, noun: str, verb: str = "") -> str:
    """Write a number with its noun, which may have words before it and is given in the singular, and its verb."""
    *before, last = noun.split(" ")
    words = [f"{count:,}", *before, last if count == 1 else _SEVERAL.get(last, f"{last}s")]
    if verb:
        words.append(verb if count == 1 else _SEVERAL.get(verb, verb))
    return " ".join(words)


def some(names: Iterable[str], most: int = 5) -> str:
    """List the first of some names in a sentence, and say how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(f"{name:.60}" for name in listed[:most]) + more
