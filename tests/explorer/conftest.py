"""Fixtures of the explorer's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.explorer.page import Page
from tests.explorer.small_world import Tab


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def page(root: Path, tmp_path: Path) -> Iterator[Page]:
    made = Page(root, tmp_path / "recorded", tmp_path / "assets")
    yield made
    made.library.close()


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    made = Tab(tmp_path)
    yield made
    made.close()
