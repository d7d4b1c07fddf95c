"""Real data and reference tables that lie beside the checkout where they are provided."""

from __future__ import annotations

import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[1].parent / "shared"


def needs(path: str) -> pathlib.Path:
    """The path inside the shared folder; skips the test with a reason where it is absent."""
    folder = SHARED / path
    if not folder.exists():
        pytest.skip(f"shared/{path} is not here")
    return folder
