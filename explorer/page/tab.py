"""The descriptor of a tab, and what every tab may use of the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import gradio as gr
from gradio.context import Context

from explorer.settings import ASSETS

if TYPE_CHECKING:
    from starlette.routing import Route

    from explorer.hub.routes import HubJobs
    from explorer.layout.supervisor import LayoutSupervisor
    from explorer.server.library import Library
    from explorer.server.photographs import Photographs
    from explorer.server.runs import Runs
    from explorer.server.shown_files import ShownFiles
    from explorer.server.turns import Turns
    from explorer.settings import Settings

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The objects that the tabs share.

    Attributes:
        settings: of the explorer.
        library: reads runs.
        runs: starts and controls runs.
        layout: draws the maps of the runs that it is told are viewed.
        turns: in which visitors' images are unpacked.
        photographs: that visitors send through ``parts.photograph``, whose paths it opens.
        shown: writes images of ours for Gradio's components.
        hub: opens comparisons of the Hub.
    """

    settings: Settings
    library: Library
    runs: Runs
    layout: LayoutSupervisor
    turns: Turns
    photographs: Photographs
    shown: ShownFiles
    hub: HubJobs


def opened_tab() -> gr.Tab:
    """Return Gradio's tab that is being built, for what is done when it is opened."""
    block = Context.block
    while not isinstance(block, gr.Tab):
        if block is None:
            raise RuntimeError("A tab is built inside gr.Tab.")
        block = block.parent
    return block


def _shared(shared: Shared) -> Any:
    return shared


def _none(_service: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Tab(Generic[S]):
    """A tab of the page.

    Attributes:
        name: id of the tab.
        title: as printed.
        order: place among the tabs, smaller first.
        assets: its folder in ``assets``, whose style sheets the page links; empty: its name.
        service: makes what the tab keeps while the page is served, which the functions below are called with; the
            shared parts of the server for a tab that keeps nothing.
        build: adds the tab's content; called once inside the tab.
        routes: its addresses, under the prefix of all addresses.
        functions: what it offers to programs; each is named and described as it is here.
        at_once: calls of one of them that are answered at the same time.
        close: ends what the service does in the background.
        trains: the sidebar shows the settings of a comparison and Train while the tab is open, and the run it starts
            belongs here.
        aside: what the sidebar says instead, where it starts nothing: one or two sentences.
    """

    name: str
    title: str
    order: int
    build: Callable[[S], None]
    assets: str = ""
    service: Callable[[Shared], S] = _shared
    routes: Callable[[S], Sequence[Route]] = _none
    functions: Callable[[S], Sequence[Callable[..., Any]]] = _none
    at_once: int = 1
    close: Callable[[S], object] = _none
    trains: bool = False
    aside: str = ""

    @property
    def folder(self) -> Path:
        """Where its scripts and styles are; need not exist."""
        return ASSETS / (self.assets or self.name)
