"""Fixtures of the explorer's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.explorer.page import Page


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def page(root: Path, tmp_path: Path) -> Iterator[Page]:
    made = Page(root, tmp_path / "recorded", tmp_path / "assets")
    yield made
    made.library.close()
