"""A client of the routes with the prefix filled in, and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from explorer.exports.downloads import download_routes
from explorer.page.tab import Shared
from explorer.server.library import Library
from explorer.server.routes import PREFIX, mounted
from explorer.settings import ASSETS, Settings
from explorer.tabs import TABS
from trainers.runs import RunFolder


class Line:
    """A queue in which every run is third and that copies no run."""

    lost = ""

    def position(self, run_id: str) -> int | None:
        return 3

    def kept(self, folder: RunFolder) -> None:
        return None


class Watched:
    """Remembers what it was told to watch."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def watch(self, run_id: str) -> None:
        self.ids.append(run_id)


def routes(library: Library, layout: Any, queue: Any, assets: Path = ASSETS, more: Sequence[Route] = ()) -> list[Mount]:
    """The addresses about runs: those of the tabs that keep nothing, and downloads."""
    settings = Settings(runs=library.root, recorded=library.recorded)
    shared = Shared(settings=settings, library=library, runs=queue, layout=layout, turns=None)  # type: ignore[arg-type]
    of_tabs = [route for name in ("live", "compare", "runs") for route in TABS[name].routes(shared)]
    return mounted([*more, *of_tabs, *download_routes(library)], assets)


class Page:
    """A client with the prefix filled in."""

    def __init__(self, root: Path, recorded: Path, assets: Path) -> None:
        self.library = Library(root, recorded)
        self.watched = Watched()
        made = routes(self.library, self.watched, Line(), assets)
        self.client = TestClient(Starlette(routes=made))

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(f"{PREFIX}/{path}", headers=headers)

    def json(self, path: str) -> dict:
        reply = self.get(path)
        assert reply.status_code == 200, reply.text
        return reply.json()
