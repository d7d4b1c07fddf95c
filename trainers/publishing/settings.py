"""The settings of a run as others may read them: folders of this machine are named, not where they lie."""

from __future__ import annotations

import json
import re
from typing import Any

from trainers.config import Config
from trainers.data.sources import is_path

_SOURCES = ("source", "captions_from")


def source_name(source: str) -> str:
    """Return a dataset as others know it: of a path its last part."""
    return (re.split(r"[\\/]", source.rstrip("\\/"))[-1] or "images") if is_path(source) else source


def public_settings(config: Config) -> dict[str, Any]:
    """Return the content of ``config.json`` with the names of folders in place of their paths."""
    values: dict[str, Any] = _named(json.loads(config.to_json()))
    return values


def _named(values: Any) -> Any:
    if isinstance(values, list):
        return [_named(value) for value in values]
    if not isinstance(values, dict):
        return values
    return {
        key: source_name(value) if key in _SOURCES and isinstance(value, str) else _named(value)
        for key, value in values.items()
    }
