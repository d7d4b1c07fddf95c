"""The page's additions to a kind of run: the sections of its form, and functions of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.server.runs import Runs
from trainers.config import RunConfig
from trainers.kinds.base import Kind
from trainers.parameters import specs


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a form.

    Attributes:
        names: of its settings, in order; of a setting within another one ``data.subset``.
        title: its heading; empty: none.
        folded: it is opened by its heading.
        about: a sentence below it.
        views: it has a button that shows augmented views of some images.
    """

    names: Sequence[str]
    title: str = ""
    folded: bool = False
    about: str = ""
    views: bool = False


@dataclass(frozen=True, kw_only=True)
class KindPage:
    """The page's additions to a kind of run.

    Attributes:
        name: of the kind.
        sections: of its form in the sidebar; empty: its runs are started elsewhere on the page.
        entries: by setting the names of the entries that are offered; all of its registry where it is not here.
        sets: by setting the settings that follow from the entry that is chosen, from its descriptor.
        unlabelled: what is said of images without classes.
        added: what "Add a ..." proposes for the arms: the first of these, then of all, that is not chosen yet.
        views: shows augmented views of the images of a configuration, for the section that has the button.
        endpoints: functions that the API offers beside those of every kind.
    """

    name: str
    sections: Sequence[Section] = ()
    entries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sets: Mapping[str, Callable[[Any], Mapping[str, Any]]] = field(default_factory=dict)
    unlabelled: str = ""
    added: Sequence[str] = ()
    views: Callable[[Any], Mapping[str, Any]] | None = None
    endpoints: Callable[[Runs], Sequence[Callable[..., Any]]] = lambda _runs: ()


READ = ("image_column", "label_columns", "train_split", "test_split", "held_out", "subset", "max_images")
"""Settings of :class:`trainers.config.DataChoice` on how images are read."""
HARD = ("label_noise", "noise_kind", "withheld_classes", "withheld_images")
"""Hard conditions with a field; folds are for searches, which set them themselves."""
IMAGES = Section(names=["data.source"], title="Images")
READING = Section(names=[f"data.{name}" for name in READ], title="How they are read", folded=True)
START = Section(names=["start"], title="Start from another run", folded=True)
CONDITIONS = Section(names=[f"data.conditions.{name}" for name in HARD], title="Hard conditions", folded=True)
MORE = "Batch, learning rate and more"


def page_of(kind: Kind) -> KindPage:
    """Make the form of a kind that has no page of its own: a field per setting, but for those of every kind that it
    does not name; of one that holds others the first of them.
    """
    shared = {spec.name for spec in specs(RunConfig)}
    listed = {*kind.main, *kind.more}
    names = [
        f"{spec.name}.{specs(spec.type)[0].name}" if spec.nested else spec.name
        for spec in specs(kind.config)
        if not spec.rule.private and (spec.name in listed or spec.name not in shared)
    ]
    return KindPage(name=kind.name, sections=[Section(names=names)])
