"""A client of the routes with the prefix filled in, and what stands around it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from explorer.exports.downloads import Downloads, download_routes
from explorer.page.form_routes import form_routes
from explorer.page.form_service import FormService
from explorer.page.tab import Shared
from explorer.server.assets import Assets
from explorer.server.drops import DropLimits, Drops, drop_limits
from explorer.server.library import Library
from explorer.server.routes import PREFIX, mounted
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import ASSETS, Settings
from explorer.tabs import TABS
from explorer.tabs.runs.run_list import runs
from trainers.runs import RunFolder
from trainers.training.executor import ProcessExecutor


def error(reply: httpx.Response) -> str:
    """The sentence of a refusal."""
    assert 400 <= reply.status_code < 500, f"{reply.status_code} {reply.text}"
    return reply.json()["error"]


def picture(content: bytes) -> np.ndarray:
    """The pixels of an image file."""
    return np.array(Image.open(io.BytesIO(content)).convert("RGB"))


class Line:
    """A queue in which every run is third and that copies no run."""

    lost = ""

    def is_of(self, folder: RunFolder, token: str, caller: Any = None) -> bool:
        return not folder.read_only

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
    kept: dict[str, Any] = {"turns": None, "photographs": None, "shown": None, "hub": None}
    shared = Shared(settings=settings, library=library, runs=queue, layout=layout, **kept)
    tabs = [TABS[name] for name in ("live", "compare", "runs")]
    of_tabs = [route for tab in tabs for route in tab.routes(tab.service(shared))]
    return mounted([*more, *of_tabs, *download_routes(Downloads(library))], Assets(assets))


class Client:
    """A client of routes below one address.

    Attributes:
        client: for what else is asked.
    """

    def __init__(self, routes: Sequence[BaseRoute], below: str = PREFIX) -> None:
        self.client = TestClient(Starlette(routes=routes))
        self._below = below

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(f"{self._below}/{path}", headers=headers)

    def post(self, path: str, content: object = None, **headers: str) -> httpx.Response:
        """Bytes, or JSON."""
        body: dict[str, Any] = {"content": content} if isinstance(content, bytes) else {"json": content or {}}
        return self.client.post(f"{self._below}/{path}", headers=headers, **body)

    def json(self, path: str, content: object = None) -> dict[str, Any]:
        """The answer to a question, which has one."""
        reply = self.get(path) if content is None else self.post(path, content)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def refused(self, path: str, content: object = None) -> str:
        reply = self.get(path) if content is None else self.post(path, content)
        return error(reply)


class Page(Client):
    """The addresses about runs."""

    def __init__(self, root: Path, recorded: Path, assets: Path) -> None:
        self.library = Library(root, recorded)
        self.watched = Watched()
        super().__init__(routes(self.library, self.watched, Line(), assets))

    def cards(self) -> list[dict[str, Any]]:
        """What the list of runs says of each."""
        return runs(self.library, Line())  # type: ignore[arg-type]


class FormPage(Client):
    """The addresses of the form over a folder of runs, and what they take."""

    def __init__(self, root: Path, *, public: bool = False, limits: DropLimits | None = None) -> None:
        self.settings = Settings(runs=root / "runs", recorded=root / "none", public=public)
        self.scheduler = Scheduler(self.settings, ProcessExecutor())
        self.runs = Runs(self.settings, self.scheduler)
        self.drops = Drops(limits or drop_limits(self.settings))
        super().__init__(mounted(form_routes(FormService(self.runs, self.drops))), f"{PREFIX}/form")
