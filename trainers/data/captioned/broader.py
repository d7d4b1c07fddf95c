"""The broader class of each class, as COCO's lists of categories have it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FILE = "categories.json"
_LARGEST = 10_000_000  # bytes


def broader_classes(categories: Iterable[Any]) -> dict[str, str]:
    """Map class to supercategory in a list of entries with ``name`` and ``supercategory``; others are left out."""
    return {
        entry["name"]: entry["supercategory"]
        for entry in categories
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("supercategory"), str)
    }


def listed_beside(folder: Path | None) -> dict[str, str]:
    """Read the same from the file ``categories.json`` in a folder; empty where there is none that can be read."""
    path = None if folder is None else folder / FILE
    try:
        if path is None or not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        categories = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return broader_classes(categories) if isinstance(categories, list) else {}
