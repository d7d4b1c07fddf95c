"""The descriptor of a kind of run: everything that the command line, the page and the worker need to know about it."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from trainers.config import C
from trainers.kinds.settings import KindSettings, Preset
from trainers.kinds.titles import KindTitles
from trainers.kinds.training import KindTraining

if TYPE_CHECKING:
    from trainers.runs import RunFolder

__all__ = ["Kind", "Preset"]


class Kind(KindSettings[C], KindTraining[C], KindTitles[C], ABC):
    """A kind of run. Modules that take seconds to import are imported inside the methods that need them.

    Attributes:
        name: of its folder.
        title: as listed.
        verb: of the command line; ``old_verbs`` still work, and their help names the new one.
        sentence: what it does, in one sentence.
        lists: registries of its own, ``module:NAME`` by the verb of the command line that lists them; their entries
            have ``family``, ``paper`` and ``url``.
    """

    name: str
    title: str
    verb: str
    old_verbs: tuple[str, ...] = ()
    sentence: str
    order: int = 100
    lists: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def result(self, config: C, folder: RunFolder) -> str:
        """Write what a finished run prints: the numbers over the whole test set, a line per arm."""
        titles = [arm.title for arm in self.arms(config)]
        return self.measures_of(config).last_lines(folder.scalars(), titles)
