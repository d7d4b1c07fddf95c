"""The real page in a real browser: one Chromium and the same pages for all tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.served import launched, left_as_they_were, shared_by_strangers, strangers
from tests.synthetic import make_run
from trainers.runs import RunFolder

PATIENCE = 60_000  # ms; a busy machine draws WebGL in software
NAMES = ("chromium", "chromium-browser", "google-chrome")
PROXIED = "demo.example.org"
"""The name under which proxies serve the page; Chromium finds it on this machine."""
# without SwiftShader a headless browser has no WebGL, but all else is drawn faster without it; most of the rest keeps
# the browser from calling home
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-rasterization",
    "--disable-gpu-compositing",
    "--enable-precise-memory-info",
    "--js-flags=--expose-gc",
]
# raised inside Gradio's own threads
GRADIO = (
    "ignore:unclosed:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::DeprecationWarning",
)


def chromium() -> str | None:
    """Path of a Chromium: the environment's ``CHROMIUM``, or one that is installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, let Gradio's own leftovers pass, and skip all without a browser."""
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.filterwarnings(*GRADIO))
        if chromium() is None:
            item.add_marker(pytest.mark.skip(reason="no Chromium: install one, or name it in CHROMIUM"))


@dataclass(frozen=True, kw_only=True)
class Site:
    """A served page: its address, its runs folder and one finished run in it."""

    url: str
    root: Path
    finished: RunFolder

    def at(self, folder: RunFolder, more: str = "") -> str:
        """Address that opens a run."""
        return f"{self.url}/?run={folder.id}{more}"


@contextmanager
def serve(root: Path, finished: RunFolder, **settings: Any) -> Iterator[Site]:
    """The whole app over made-up runs; nothing trains and nothing is laid out."""
    from explorer.settings import Settings

    with launched(Settings(**{"runs": root, "recorded": root / "none", **settings})) as page:
        yield Site(url=page.blocks.local_url.rstrip("/"), root=root, finished=finished)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One's own page, which a proxy may serve too."""
    root = tmp_path_factory.mktemp("runs")
    with serve(root, make_run(root, points=600, frames=6), hosts=(PROXIED,)) as served:
        yield served


@pytest.fixture(scope="session")
def public_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The page for strangers, see :func:`public`, with the recordings."""
    from explorer.settings import ASSETS

    root = tmp_path_factory.mktemp("public")
    page = serve(root, make_run(root, points=60, frames=2), recorded=ASSETS / "recorded", public=True)
    with shared_by_strangers(page) as shared:
        yield shared


@pytest.fixture
def public(public_page: Site) -> Iterator[Site]:
    """That page, while what strangers may do holds for the whole process."""
    with strangers():
        yield public_page


@pytest.fixture(autouse=True)
def _pages_left_as_they_were() -> Iterator[None]:
    with left_as_they_were():
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as started:
        resolved = f"--host-resolver-rules=MAP {PROXIED} 127.0.0.1"
        opened = started.chromium.launch(executable_path=chromium(), args=[*FLAGS, resolved])
        yield opened
        opened.close()
