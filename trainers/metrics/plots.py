"""Plots of a run's numbers against each other: what stands on the axes, and one sentence on how to read it.

A plot has a form, which the page draws (``assets/live/plots/forms.js``); what is drawn is said here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from trainers.metrics.panels import Panel

InWords = Callable[[str], dict[str, Any]]
"""What the page needs of a number, from its key; see :meth:`trainers.metrics.measures.Measures.number_json`."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a plot.

    Attributes:
        key: of the number, as stored.
        title: as printed.
        complement: 1 less the number is shown.
    """

    key: str
    title: str
    complement: bool = False


@dataclass(frozen=True, kw_only=True)
class Plot(ABC):
    """One plot.

    Attributes:
        name: key.
        title: as printed.
        note: a sentence on how to read it.
        source: the paper and figure that it follows; empty: ours.
        url: of the paper.
        missing: a sentence for a run that has no such numbers.
        folded: it is shown under "More plots".
    """

    name: str
    title: str
    note: str
    source: str = ""
    url: str = ""
    missing: str = ""
    folded: bool = False
    form: ClassVar[str]

    def json(self, in_words: InWords) -> dict[str, Any]:
        """Return everything that the page needs to draw it."""
        words = ("name", "title", "note", "source", "url", "missing", "folded")
        known: dict[str, Any] = {word: getattr(self, word) for word in words}
        return {"form": self.form} | known | self._content(in_words)

    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """Return the keys of the numbers that it draws, or names of measures that stand for several."""

    @abstractmethod
    def _content(self, in_words: InWords) -> dict[str, Any]:
        """Return what the plot of this form draws."""


@dataclass(frozen=True, kw_only=True)
class PathPlot(Plot):
    """One number against another, a path over the steps for each arm.

    Attributes:
        x, y: the axes.
        diagonal: where x equals y is drawn, and both axes have one scale.
        panels: curves over the steps beside the path.
    """

    form: ClassVar[str] = "path"
    x: Axis
    y: Axis
    diagonal: bool = False
    panels: tuple[Panel, ...] = ()

    def keys(self) -> tuple[str, ...]:
        """Return the keys of both axes and of the curves."""
        return (self.x.key, self.y.key, *(panel.key for panel in self.panels))

    def _content(self, in_words: InWords) -> dict[str, Any]:
        panels = [in_words(panel.key) | {"dashed": panel.dashed} for panel in self.panels]
        return {"x": asdict(self.x), "y": asdict(self.y), "diagonal": self.diagonal, "panels": panels}


@dataclass(frozen=True, kw_only=True)
class LevelPlot(Plot):
    """One number at each level of the label tree: bars at the step shown, and curves over the steps.

    Attributes:
        measure: name of the number, from 0 to 1; ``l`` in it stands for the level.
    """

    form: ClassVar[str] = "levels"
    measure: str

    def keys(self) -> tuple[str, ...]:
        """Return the name of the measure."""
        return (self.measure,)

    def _content(self, in_words: InWords) -> dict[str, Any]:
        return {"measure": self.measure}


@dataclass(frozen=True, kw_only=True)
class MistakesPlot(Plot):
    """A plot of metrics of a perfect ranking with mistakes; see :mod:`trainers.metrics.controlled_errors`."""

    form: ClassVar[str] = "mistakes"

    def keys(self) -> tuple[str, ...]:
        """Return no key: the plot is about metrics, not about a run."""
        return ()

    def _content(self, in_words: InWords) -> dict[str, Any]:
        return {}
