"""Fixtures of the explorer's tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.explorer.page import Page
from tests.explorer.small_world import Tab
from tests.served import left_as_they_were, shared_by_strangers, strangers

if TYPE_CHECKING:
    from tests.explorer.served_page import Served

OpenTab = Callable[..., Tab]


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One's own page."""
    from tests.explorer.served_page import served

    with served(tmp_path_factory.mktemp("local")) as page:
        yield page


@pytest.fixture(scope="session")
def public_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page for strangers, three of whose runs may wait or train at an address, see :func:`public`."""
    from explorer.settings import Limits
    from tests.explorer.served_page import served

    page = served(tmp_path_factory.mktemp("public"), public=True, limits=Limits(held=3, hourly=1000))
    with shared_by_strangers(page) as shared:
        yield shared


@pytest.fixture
def public(public_page: Served) -> Iterator[Served]:
    """That page, while what strangers may do holds for the whole process."""
    with strangers():
        yield public_page


@pytest.fixture(autouse=True)
def _pages_left_as_they_were() -> Iterator[None]:
    with left_as_they_were():
        yield


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
