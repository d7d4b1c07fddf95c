"""Real data and reference tables that lie beside the checkout where they are provided."""

from __future__ import annotations

import importlib.util
import pathlib
from types import ModuleType

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[1].parent / "shared"


def needs(path: str) -> pathlib.Path:
    """The path inside the shared folder; skips the test with a reason where it is absent."""
    folder = SHARED / path
    if not folder.exists():
        pytest.skip(f"shared/{path} is not here")
    return folder


def tool(name: str) -> ModuleType:
    """A program of the shared folder, as a module."""
    spec = importlib.util.spec_from_file_location(name, needs(f"tools/{name}.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
