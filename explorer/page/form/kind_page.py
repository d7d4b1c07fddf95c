"""The page's additions to a kind of run: what its form offers beyond the settings, and functions of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.server.runs import Runs


@dataclass(frozen=True, kw_only=True)
class KindPage:
    """The page's additions to a kind of run.

    Attributes:
        name: of the kind.
        presets: those of the kind are offered; False: on the command line alone.
        images: of the catalogue that its form begins with; empty: those of the kind's settings.
        sidebar: its runs are started in the sidebar; False: elsewhere on the page.
        entries: by setting the names of the entries that are offered; all of its registry where it is not here.
        sets: by setting the settings that follow from the entry that is chosen, from its descriptor.
        unlabelled: what is said of images without classes.
        added: what "Add a ..." proposes for the arms: the first of these, then of all, that is not chosen yet.
        views: shows augmented views of the images of a configuration, below the setting ``augmentation``.
        endpoints: functions that the API offers beside those of every kind.
    """

    name: str
    presets: bool = True
    images: str = ""
    sidebar: bool = True
    entries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sets: Mapping[str, Callable[[Any], Mapping[str, Any]]] = field(default_factory=dict)
    unlabelled: str = ""
    added: Sequence[str] = ()
    views: Callable[[Any], Mapping[str, Any]] | None = None
    endpoints: Callable[[Runs], Sequence[Callable[..., Any]]] = lambda _runs: ()
