"""Texts of strangers on the page: short, in a line, with nothing in them that turns the text around or is markup."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from trainers.cells import encodable, one_line
from trainers.comparison.markup import markdown_text

_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def brief(text: str, most: int) -> str:
    """Write at most so many letters of a text, in one line."""
    line = encodable(one_line(_TURNING.sub("", text)))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def literal(text: str, most: int = 300) -> str:
    """Write at most so many letters of a text in one line of Markdown, with nothing in it that is markup."""
    return markdown_text(brief(text, most))


def number(value: float | None, spread: float | None = None) -> str:
    """Write a number with three decimals, and its standard deviation; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.3f}" if spread is None else f"{value:.3f} ± {spread:.3f}"


def moment(seconds: float) -> str:
    """Write a moment, in seconds since the epoch, by the clock of the server."""
    at = datetime.fromtimestamp(seconds, UTC).astimezone()
    return f"{at.day} {at:%b, %H:%M}{' UTC' if not at.utcoffset() else ''}"


def size(count: int) -> str:
    """Write a number of bytes."""
    if count < 1e6:
        return f"{max(1, round(count / 1e3))} kB"
    return f"{count / 1e6:.{0 if count > 1e7 else 1}f} MB"
