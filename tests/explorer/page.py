"""A client of the routes with the prefix filled in, and what stands around it."""

from __future__ import annotations

from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.server.library import Library
from explorer.server.plan_routes import plan_routes
from explorer.server.routes import PREFIX, routes


class Line:
    """A queue in which every run is third."""

    def position(self, run_id: str) -> int | None:
        return 3


class Watched:
    """Remembers what it was told to watch."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def watch(self, run_id: str) -> None:
        self.ids.append(run_id)


class Page:
    """A client with the prefix filled in."""

    def __init__(self, root: Path, recorded: Path, assets: Path) -> None:
        self.library = Library(root, recorded)
        self.watched = Watched()
        made = routes(self.library, self.watched, Line(), assets, plan_routes(self.library, Line()))
        self.client = TestClient(Starlette(routes=made))

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(f"{PREFIX}/{path}", headers=headers)

    def json(self, path: str) -> dict:
        reply = self.get(path)
        assert reply.status_code == 200, reply.text
        return reply.json()
