"""The numbers that a kind of run shows, under a map, in curves, plots, lists and in its last line.

Plots of a run's numbers against each other: what stands on the axes, and one sentence on how to read it.

A plot has a form, which the page draws (``assets/live/plots/forms.js``); what is drawn is said here.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from trainers.metrics.catalogue.maps import CURVES as MAP_CURVES
from trainers.metrics.names import Described, describe_any
from trainers.runs.records import STAGE, Scalar


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One curve per arm.

    Attributes:
        dashed: another number, drawn dashed beside it.
        small: it also stands in the small view of a run that is followed beside its form.
    """

    key: str
    dashed: str | None = None
    small: bool = False


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One number for each of several groups, as bars at one step; a small picture per arm.

    Attributes:
        key: name of the numbers, ``*`` standing for the group; a group's name starts with its place, from 1.
        title: of the pictures.
        axis: what the groups are ordered by, and ``unit`` what its marks are counted in.
        marks: name of the numbers that say where each group lies on the axis, ``*`` standing for the same group.
        share: the share of the axis that the groups cover; the rest of the picture is left empty.
        rest: what that rest is.
        beside: numbers written beside an arm's title.
        note: a sentence on how to read it.
    """

    key: str
    title: str
    axis: str
    unit: str
    marks: str
    share: str
    rest: str
    beside: tuple[str, ...]
    note: str


InWords = Callable[[str], dict[str, Any]]
"""What the page needs of a number, from its key; see :meth:`trainers.metrics.measures.Measures.number_json`."""


@dataclass(frozen=True, kw_only=True)
class PlotAxis:
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
    x: PlotAxis
    y: PlotAxis
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


TEST = "test/"
CLIPPED = "clipped_share"
_FIELD = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True, kw_only=True)
class Measures:
    """The numbers of a kind of run, by key as stored (those of the whole test set without ``test/``).

    Templates name counts in braces; of several the first one whose counts are all known is used. ``{KEY@step}`` is the
    step at which KEY was measured, known only where that is earlier than the other numbers' step.

    Attributes:
        numbers: under a map, of the images on it.
        part: templates of how many images they are about.
        whole: under a map once the run is finished, of the whole test set.
        whole_test: templates of how many images those are about; the last one needs no count.
        headline: in the list of runs.
        panels: curves that are always there.
        later: keys, or names of measures, that get a curve when they turn up, in this order.
        profiles: pictures of numbers by group, where they turn up.
        plots: numbers against each other, see :mod:`trainers.metrics.measures`.
        compared: numbers of training whose last value is compared beside the final ones by whatever plans such runs.
        diagnosed: keys that :meth:`trainers.kinds.base.Kind.diagnosis` reads.
        floor: keys of numbers under a map whose value before the first step stands beside them.
        legend: what solid and dashed lines are.
        summary: in the last line of the command line; empty: every number of the whole test set.
        titles: titles by measure name where the kind has its own.
        remarks: key to template: a sentence under the summary where the number is not 0.
    """

    numbers: tuple[str, ...]
    part: tuple[str, ...]
    whole: tuple[str, ...]
    whole_test: tuple[str, ...]
    headline: tuple[str, ...]
    panels: tuple[Panel, ...]
    later: tuple[str, ...]
    legend: str
    profiles: tuple[Profile, ...] = ()
    plots: tuple[Plot, ...] = ()
    compared: tuple[str, ...] = ()
    diagnosed: tuple[str, ...] = ()
    floor: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)

    def asked(self, names: Sequence[str]) -> Measures:
        """Add the numbers that a run was asked for: in cards, curves, tables and the last line."""
        fresh = tuple(name for name in dict.fromkeys(names) if name not in self.numbers)
        if not fresh:
            return self
        late = tuple(name for name in fresh if name not in {panel.key for panel in self.panels})
        return replace(
            self,
            numbers=(*self.numbers, *fresh),
            whole=tuple(dict.fromkeys((*self.whole, *fresh))),
            later=tuple(dict.fromkeys((*late, *self.later))),
            summary=tuple(dict.fromkeys((*self.summary, *fresh))) if self.summary else (),
        )

    def describe(self, key: str, levels: tuple[str, ...] = ()) -> Described:
        """Return the words of a key, in the terms of this kind."""
        described = describe_any(key, levels)
        title = self.titles.get(described.measure.name)
        return described if title is None else replace(described, title=title, short=title)

    def order(self, key: str) -> tuple[int, int, str]:
        """Return a key that sorts keys: panels first, then the others as in the catalogue."""
        positions = {panel.key: index for index, panel in enumerate(self.panels)}
        return positions.get(key, len(positions)), describe_any(key).measure.order, key

    def scored(self, final: Mapping[str, float]) -> str:
        """Return what the final numbers are about, e.g. ``whole test set, 60,995 images``.

        Args:
            final: the final numbers by key, ``test/`` taken off; older runs have no counts among them.
        """
        return next(filled(text, final) for text in self.whole_test if set(_FIELD.findall(text)) <= final.keys())

    def last_lines(self, scalars: Sequence[Scalar], titles: Sequence[str]) -> str:
        """Return what the final numbers are about, then one line of them per arm, then the remarks.

        Args:
            titles: one per arm.
        """
        finals = final_numbers(scalars, len(titles))
        width = max(20, *map(len, titles))
        lines = [f"{self.scored(finals[0])}:"]
        for arm, (title, final) in enumerate(zip(titles, finals, strict=True)):
            keys = self.summary or [key for key in final if describe_any(key).measure.family != "count"]
            numbers = "  ".join(f"{key} {final[key]:.3f}" for key in keys if key in final)
            lines.append(f"  {title:<{width}} {numbers}{clipped(scalars, arm)}")
        known = {key: value for final in finals for key, value in final.items() if value}
        lines += [f"  {filled(text, known)}" for key, text in self.remarks.items() if key in known]
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """Return everything that the page needs to show the numbers; see ``assets/common/measures.js``."""
        return {
            "numbers": [self.number_json(key) for key in self.numbers],
            "part": list(self.part),
            "whole": [self.number_json(key, TEST) for key in self.whole],
            "whole_test": list(self.whole_test),
            "headline": [self.number_json(key) for key in self.headline],
            "panels": [
                self.number_json(panel.key) | {"dashed": panel.dashed, "small": panel.small} for panel in self.panels
            ],
            "later": [*self.later, *MAP_CURVES],
            "profiles": [
                asdict(profile) | {"beside": [self.number_json(key) for key in profile.beside]}
                for profile in self.profiles
            ],
            "plots": [plot.json(self.number_json) for plot in self.plots],
            "legend": self.legend,
            "floor": list(self.floor),
            "clipped": CLIPPED,
            "test": TEST,
            "stage": STAGE,
        }

    def key_json(self, key: str, levels: tuple[str, ...]) -> dict[str, str | bool]:
        """Return what the page needs of a key that a run has written, beyond :meth:`json`."""
        described = self.describe(key, levels)
        measure = described.measure
        return {
            "name": measure.name,
            "title": described.title,
            "unit": measure.unit,
            "curve": described.is_curve,
        }

    def number_json(self, key: str, prefix: str = "") -> dict[str, str]:
        """Describe a number in words, its key behind a prefix."""
        described = self.describe(key)
        measure = described.measure
        return {
            "key": prefix + key,
            "title": described.title,
            "short": described.short,
            "sentence": described.sentence,
            "unit": measure.unit,
            "better": measure.better,
        }


def filled(template: str, values: Mapping[str, float]) -> str:
    """Fill a template with its numbers, as whole numbers with separators."""
    return _FIELD.sub(lambda part: f"{values[part[1]]:,.0f}", template)


def final_numbers(scalars: Sequence[Scalar], arms: int) -> list[dict[str, float]]:
    """Return the numbers of the whole test set of each arm, ``test/`` taken off the keys."""
    finals: list[dict[str, float]] = [{} for _ in range(arms)]
    for scalar in scalars:
        if scalar.key.startswith(TEST):
            finals[scalar.arm][scalar.key.removeprefix(TEST)] = scalar.value
    return finals


def last_numbers(scalars: Sequence[Scalar], arms: int, keys: Sequence[str]) -> list[dict[str, float]]:
    """Return the last value of each of ``keys`` of each arm; missing where there is none."""
    last: list[dict[str, float]] = [{} for _ in range(arms)]
    for scalar in scalars:
        if scalar.key in keys:
            last[scalar.arm][scalar.key] = scalar.value
    return last


def clipped(scalars: Sequence[Scalar], arm: int) -> str:
    """Return the share of an arm's steps that were clipped, as the end of a line of numbers; empty for none."""
    last = [scalar.value for scalar in scalars if scalar.arm == arm and scalar.key == CLIPPED][-1:]
    return f"  gradient clipped in {last[0]:.1%} of steps" if last and last[0] else ""
