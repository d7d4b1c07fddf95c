"""The real page in a real browser: one server and one Chromium for all tests of this folder, a fresh page for each."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.synthetic import make_run
from trainers.runs import RunFolder

PATIENCE = 20_000  # ms; a busy machine draws WebGL in software
NAMES = ("chromium", "chromium-browser", "google-chrome")
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
    from explorer.explorer import Explorer
    from explorer.settings import Settings

    explorer = Explorer(Settings(**{"runs": root, "recorded": root / "none", **settings}))
    launched = explorer.blocks.queue().launch(
        prevent_thread_lock=True, quiet=True, inbrowser=False, **explorer.launch_options
    )
    try:
        yield Site(url=launched[1].rstrip("/"), root=root, finished=finished)
    finally:  # a public page that stays open keeps its process from reading folders
        explorer.close()
        gc.collect()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One page for all tests of this folder."""
    root = tmp_path_factory.mktemp("runs")
    with serve(root, make_run(root, points=600, frames=6)) as served:
        yield served


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield opened
        opened.close()
