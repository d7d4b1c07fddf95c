"""Configurations as they were before they named their kind: one flat set of settings, of which a kind used some."""

from __future__ import annotations

import dataclasses
from typing import Any

from trainers.config import VERSION, RunConfig

CLIPPED_BEFORE = 10.0  # runs written before clipping was a setting were all clipped there, and go on as they began
_SHARED = {field.name for field in dataclasses.fields(RunConfig)}


def shared(values: dict[str, Any]) -> dict[str, Any]:
    """Move the settings that every kind has out of ``values``, and return them with the version."""
    values.setdefault("clip_norm", CLIPPED_BEFORE)
    return {"version": VERSION} | {name: values.pop(name) for name in sorted(_SHARED & set(values))}
