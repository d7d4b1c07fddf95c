"""Checks of values read from a run folder: SQLite and JSON return values of any type.

Each function returns the value in its type, or raises ValueError with ``name``, what was needed and what it got.
"""

from __future__ import annotations

import json
import re
from typing import Any

from trainers.values import is_number

MOST = 2**53  # beyond it a browser cannot count
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def is_id(text: str) -> bool:
    """Return whether ``text`` has the form of a run id, and so cannot name another place."""
    return _ID.fullmatch(text) is not None


def whole(value: object, name: str, low: int = 0) -> int:
    """Return ``value`` as a whole number that a browser can hold, or raise ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value < MOST:
        raise ValueError(f"{name} needs a whole number, {low} or more; got {shown(value)}")
    return value


def real(value: object, name: str) -> float:
    """Return ``value`` as a finite number, or raise ValueError."""
    if not is_number(value):
        raise ValueError(f"{name} needs a number; got {shown(value)}")
    return float(value)


def measured(value: object, name: str) -> float | None:
    """Return ``value`` as a number, infinity included; None stands for not-a-number, as SQLite keeps it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} needs a number; got {shown(value)}")
    return float(value)


def text(value: object, name: str) -> str:
    """Return ``value`` as a text, or raise ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name} needs text; got {shown(value)}")
    return value


def texts(value: object, name: str) -> tuple[str, ...]:
    """Return ``value`` as a tuple of texts, or raise ValueError."""
    if not isinstance(value, list):
        raise ValueError(f"{name} needs a list of texts; got {shown(value)}")
    return tuple(text(each, name) for each in value)


def json_object(content: str | bytes, name: str) -> dict[str, Any]:
    """Read a JSON object without NaN, infinity or numbers beyond 64 bits; RecursionError if it is nested too deeply."""
    values = json.loads(content, parse_int=_bounded)
    if not isinstance(values, dict):
        raise ValueError(f"{name} needs a JSON object; got {shown(values)}")
    json.dumps(values, allow_nan=False)
    return values


def shown(value: object) -> str:
    """Write a value in at most 40 characters."""
    return repr(value)[:40]


def _bounded(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) >= 2**63:
        raise ValueError(f"a whole number has at most 63 bits; got {digits[:24]}")
    return int(digits)
