"""The descriptor of a tab, and what a tab is built with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.object_removal.service import Objects
from explorer.server.runs import Runs


@dataclass(frozen=True, kw_only=True)
class TabContext:
    """What a tab may use: the runs and object removal."""

    runs: Runs
    objects: Objects


@dataclass(frozen=True, kw_only=True)
class TabDescriptor:
    """One tab of the page.

    Attributes:
        name: id of the tab.
        title: as printed.
        order: place among the tabs, smaller first.
        build: adds the tab's content; called once inside the tab.
        trains: the sidebar shows the settings of a comparison and Train while the tab is open, and the run it starts
            belongs here.
        plans: it shows a plan; the sidebar's status and buttons are about that one.
        aside: what the sidebar says instead, where it starts nothing: one or two sentences.
    """

    name: str
    title: str
    order: int
    build: Callable[[TabContext], None]
    trains: bool = False
    plans: bool = False
    aside: str = ""
