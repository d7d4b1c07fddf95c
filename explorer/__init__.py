"""Everything a browser needs: the page, the routes it reads from, the queue and the process that draws maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.settings import Settings

if TYPE_CHECKING:
    import gradio as gr

    from explorer.layout.supervisor import LayoutSupervisor
    from explorer.object_removal.service import Objects
    from explorer.server.executor import ProcessExecutor
    from explorer.server.library import Library
    from explorer.server.scheduler import Scheduler

SESSIONS = 128
"""Visits that Gradio remembers. Each call of the API is one more; each takes a third of a megabyte."""

__all__ = ["Explorer", "Settings", "build"]


@dataclass(kw_only=True)
class Explorer:
    """A page ready to be launched and the machinery behind it.

    Attributes:
        blocks: the page.
        launch_options: what ``blocks.launch`` needs for it: theme, styles, routes.
        released: called at the end; takes back what this page changed for the whole process.
    """

    blocks: gr.Blocks
    launch_options: dict[str, Any]
    library: Library
    scheduler: Scheduler
    layout: LayoutSupervisor
    objects: Objects
    released: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start the queue and the process that draws maps; returns at once."""
        self.layout.start()
        self.scheduler.begin()

    def close(self) -> None:
        """Close everything; trainers save a checkpoint and leave, unless they are detached."""
        self.blocks.close()
        self.scheduler.close()
        self.layout.stop()
        self.objects.close()
        self.library.close()
        self.released()


def build(settings: Settings, executor: ProcessExecutor | None = None) -> Explorer:
    """Make the page and what it stands on; nothing runs before :meth:`Explorer.start`.

    Args:
        executor: runs the trainers; None: each in a process of its own.
    """
    # here and not above: the maps' process imports this package too, and needs none of it
    from starlette.middleware import Middleware

    from explorer.layout.supervisor import LayoutSupervisor
    from explorer.object_removal.routes import objects_routes
    from explorer.object_removal.service import Objects
    from explorer.page.shell import HEAD, page
    from explorer.page.theme import STYLES, theme
    from explorer.server.devices import gpus
    from explorer.server.executor import ProcessExecutor
    from explorer.server.guard import Guard
    from explorer.server.library import Library
    from explorer.server.routes import routes
    from explorer.server.runs import Runs
    from explorer.server.scheduler import Scheduler
    from trainers.data import access

    released = access.serve_strangers() if settings.public else lambda: None
    scheduler = Scheduler(settings, executor or ProcessExecutor(detach=settings.detach), gpus())
    runs = Runs(settings, scheduler)
    library = Library(settings.runs, settings.recorded)
    layout = LayoutSupervisor(settings.runs)
    objects = Objects(settings, library)
    blocks = page(settings, runs, objects)
    options = {
        "theme": theme(),
        "css_paths": STYLES,
        "head": HEAD,
        "app_kwargs": {
            "routes": routes(library, layout, runs, more=objects_routes(objects)),
            "middleware": [Middleware(Guard, settings=settings, pending=blocks.pending)],
        },
        "footer_links": ["api", "settings"],
        "ssr_mode": False,
        "run_history": False,
        "state_session_capacity": SESSIONS,
        "show_error": True,
    }
    return Explorer(
        blocks=blocks,
        launch_options=options,
        library=library,
        scheduler=scheduler,
        layout=layout,
        objects=objects,
        released=released,
    )
