"""Parts of pages of the documentation that programs write: between ``<!-- NAME -->`` and ``<!-- /NAME -->``."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def between(page: str, name: str) -> str | None:
    """The text between the markers of ``name``; None: the page has none."""
    part = _part(name).search(page)
    return None if part is None else part[2].strip("\n")


def placed(page: str, name: str, text: str) -> str:
    """``page`` with ``text`` between the markers of ``name``.

    Raises:
        ValueError: the page has no such markers.
    """
    if between(page, name) is None:
        raise ValueError(f"the page needs the markers <!-- {name} --> and <!-- /{name} -->")
    return _part(name).sub(lambda part: f"{part[1]}{text}\n{part[3]}", page)


def _part(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- /{re.escape(name)} -->)", re.DOTALL)
