"""Everything a browser needs: the page, the routes it reads from, the queue and the process that draws maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder
from starlette.middleware import Middleware
from starlette.routing import Route

from explorer.exports.downloads import Downloads, download_routes
from explorer.hub.routes import HubJobs, hub_routes
from explorer.keeping.keeper import Keeper
from explorer.layout.supervisor import LayoutSupervisor
from explorer.page import charts
from explorer.page.form_routes import form_routes
from explorer.page.form_service import FormService
from explorer.page.scripted import mounted_at_once
from explorer.page.shell import head, page
from explorer.page.tab import Shared
from explorer.page.theme import sheet, styles, theme
from explorer.server.assets import Assets
from explorer.server.documentation import documentation_routes
from explorer.server.drops import Drops, drop_limits
from explorer.server.guard import Guard
from explorer.server.lending import zerogpu
from explorer.server.library import Library
from explorer.server.login import login_routes
from explorer.server.native_uploads import native_uploads
from explorer.server.photographs import Photographs
from explorer.server.root import Root
from explorer.server.routes import mounted
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.server.shown_files import ShownFiles
from explorer.server.slices import SliceExecutor, Slices
from explorer.server.tools import answer_in_json
from explorer.server.training import Training, training_routes
from explorer.server.turns import Turns
from explorer.settings import Settings
from explorer.tabs import TABS
from trainers import plugins
from trainers.cluster.address import address
from trainers.cluster.executor import ClusterExecutor
from trainers.data import access
from trainers.devices.device import gpus
from trainers.devices.space import on_zerogpu
from trainers.errors import UserError
from trainers.training.executor import ProcessExecutor

SESSIONS = 64
"""Visits that Gradio remembers; each takes two thirds of a megabyte."""

_LAUNCH: Mapping[str, Any] = {
    "footer_links": ["api", "settings"],
    "ssr_mode": False,
    "run_history": False,
    "state_session_capacity": SESSIONS,
    "show_error": True,
    "mcp_server": True,
}


class Explorer:
    """A page ready to be launched and what it stands on; nothing runs before :meth:`start`.

    Args:
        executor: runs the trainers; None: each in a process of its own.

    Attributes:
        tabs: those of the page, by name, and ``services``, what each of them keeps.
        blocks: the page.
        launch_options: what ``blocks.launch`` needs for it: theme, styles, routes.

    Raises:
        UserError: plugins are used on a public page, or a cluster cannot be joined.
    """

    def __init__(self, settings: Settings, executor: ProcessExecutor | None = None) -> None:
        if settings.public and plugins.used():
            raise UserError(plugins.PUBLIC)
        answer_in_json()
        self._released = access.serve_strangers() if settings.public else lambda: None
        devices = gpus()
        if executor is None:
            settings, executor, devices = _executor(settings, devices)
        self.scheduler = Scheduler(settings, executor, devices)
        keep = settings.keep
        self.keeper = None if keep is None else Keeper(settings.runs, keep, self.scheduler.take_in)
        self.library = Library(settings.runs, settings.recorded, settings.opened)
        self.layout = LayoutSupervisor(settings.runs, lambda: self.scheduler.at_work)
        turns = Turns(settings.limits.uploads if settings.public else None, strict=settings.public)
        files = Path(get_upload_folder())
        self.photographs, self.shown = Photographs(files, turns), ShownFiles(files)
        self.hub = HubJobs(settings, self.library)
        self.downloads = Downloads(self.library)
        shared = Shared(
            settings=settings,
            library=self.library,
            runs=Runs(settings, self.scheduler, self.keeper),
            layout=self.layout,
            turns=turns,
            photographs=self.photographs,
            shown=self.shown,
            hub=self.hub,
        )
        self.training = Training(self.library, shared.runs)
        self.tabs = TABS
        self.services = {name: tab.service(shared) for name, tab in self.tabs.items()}
        sliced = executor if isinstance(executor, SliceExecutor) else None
        slices = None if sliced is None else Slices(settings, shared.runs, sliced, zerogpu())
        self.blocks = page(shared.runs, self.tabs.values(), self.services, settings.login, slices)
        self.launch_options = self._options(shared)

    def _options(self, shared: Shared) -> dict[str, Any]:
        settings = shared.settings
        folders = [tab.folder for tab in self.tabs.values()]
        assets = Assets(sheet=lambda: f"{sheet(folders)}\n{charts.sheet()}")
        modules = mounted_at_once(self.blocks)
        guard = Middleware(Guard, settings=settings, pending=self.blocks.pending, streams=self.blocks.streams)
        app = {
            "routes": [*native_uploads(self.photographs), *mounted(self._routes(shared), assets)],
            "middleware": [Middleware(Root, head=lambda: head(assets, modules)), guard],
        }
        style = {"theme": theme(), "css": styles()}
        return {**_LAUNCH, **style, "root_path": settings.root_path, "app_kwargs": app}

    def _routes(self, shared: Shared) -> list[Route]:
        service = FormService(shared.runs, Drops(drop_limits(shared.settings)), shared.turns)
        return [
            *(route for name, tab in self.tabs.items() for route in tab.routes(self.services[name])),
            *form_routes(service, shared.turns.admitted),
            *training_routes(self.training),
            *documentation_routes(),
            *download_routes(self.downloads),
            *login_routes(shared.settings),
            *hub_routes(self.hub),
        ]

    def start(self) -> None:
        """Start the queue and what starts the process that draws maps; returns at once."""
        if self.keeper is not None:
            self.keeper.begin()
        self.layout.start()
        self.scheduler.begin()

    def close(self) -> None:
        """Close everything; trainers save a checkpoint and leave, unless they are detached."""
        self.blocks.close()
        self.scheduler.close()
        self.layout.stop()
        if self.keeper is not None:
            self.keeper.close()  # last: trainers have written their checkpoints
        for name, tab in self.tabs.items():
            tab.close(self.services[name])
        self.hub.close()
        self.downloads.close()
        self.photographs.close()
        self.shown.close()
        self.library.close()
        self._released()


def _executor(settings: Settings, devices: tuple[str, ...]) -> tuple[Settings, ProcessExecutor, tuple[str, ...]]:
    """Return what runs the trainers, the settings with as many runs at once as it has room for, and which of this
    machine's devices the queue gives away: none where a cluster gives away its own.
    """
    if address():
        cluster = ClusterExecutor(settings.max_parallel)
        return dataclasses.replace(settings, max_parallel=cluster.slots), cluster, ()
    if not on_zerogpu():
        return settings, ProcessExecutor(detach=settings.detach), devices
    return settings, SliceExecutor(detach=settings.detach), devices
