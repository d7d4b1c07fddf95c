"""Fixtures of the explorer's tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.explorer.page import Page
from tests.explorer.small_world import Tab

OpenTab = Callable[..., Tab]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def page(root: Path, tmp_path: Path) -> Iterator[Page]:
    made = Page(root, tmp_path / "recorded", tmp_path / "assets")
    yield made
    made.library.close()


@pytest.fixture
def open_tab(tmp_path: Path) -> Iterator[OpenTab]:
    """Open the tab "Remove an object" with other settings, or several of them."""
    with contextlib.ExitStack() as stack:

        def opened(root: Path = tmp_path, **options: object) -> Tab:
            made = Tab(root, **options)
            stack.callback(made.close)
            return made

        yield opened


@pytest.fixture
def tab(open_tab: OpenTab) -> Tab:
    return open_tab()
