"""Describes one number that a run can show: its names, meaning, unit and, for a metric, how it is computed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from trainers.metrics.bitmasks import Judged
    from trainers.metrics.ranked_lists import Lists


CUT_OFF = {"k": "the cut-off"}
RELEVANCE = {r"\mathrm{rel}(r)": "1 if the result at rank r is of the query's class, else 0"}
RELEVANT = {"R": "number of images of the query's class"}
PRECISION = {"P(r)": "share of the first r results that are of the query's class"}
INDICATOR = {r"\mathbf 1": "1 if what stands in the brackets holds, else 0"}


Family = Literal["ranking", "image_text", "representation", "map", "training", "count"]
Unit = Literal["share", "number", "count"]
_PLACEHOLDERS = {"_at_k": r"_at_(?P<k>[1-9]\d{0,8})", "level_l": r"(?:level(?P<level>\d{1,3})|(?P<any>any_level))"}
_LEVEL = rf"(?:_{_PLACEHOLDERS['level_l']})?"


class Source(TypedDict):
    """The paper of several numbers: ``**`` of it fills in the two attributes of :class:`Measure`."""

    paper: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number.

    Attributes:
        name: key under which runs store it; ``k`` stands for any cut-off, ``l`` for a level, ``*`` for any text.
        title: as printed; ``k`` and ``*`` are filled in.
        short: the same where there is little room; empty: the title.
        sentence: what it says.
        family: ``ranking`` (:func:`trainers.metrics.evaluate`), ``image_text``, ``representation`` (of frozen
            features), ``map`` (of a map against the space), ``training`` (told by the training or the layout itself)
            or ``count`` (how many images a number is about; no curve).
        unit: ``share`` from 0 to 1, any ``number``, or a whole ``count``.
        better: the direction of improvement; empty: neither.
        each_level: the name also takes ``_level0``, ``_level1`` ... and ``_any_level``.
        paper, url, equation: where it comes from, and LaTeX without dollar signs; empty for training and counts.
        symbols: meanings of the formula's symbols, by symbols as they stand in it, in LaTeX.
        order: place in lists, smaller first.
        offered: keys that forms offer beside what every run measures; any other key can be typed.
        score: of ranked lists, the cut-off (None: the name has none) and the level: float64 ``[b]``, NaN: undefined.
        judge: of judged captions and the cut-off: float64 ``[Q]``, NaN: undefined.
    """

    name: str
    title: str
    sentence: str
    family: Family
    short: str = ""
    unit: Unit = "share"
    better: Literal["up", "down", ""] = "up"
    each_level: bool = False
    paper: str = ""
    url: str = ""
    equation: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict, hash=False)
    order: int = 100
    offered: tuple[str, ...] = ()
    score: Callable[[Lists, int | None, int], Tensor] | None = None
    judge: Callable[[Judged, int], np.ndarray] | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches the keys of this number; groups ``k``, ``level``, ``any`` (level) and ``rest``."""
        text = re.escape(self.name).replace(r"\*", "(?P<rest>.+)")
        for placeholder, expression in _PLACEHOLDERS.items():
            text = text.replace(placeholder, expression)
        return re.compile(text + (_LEVEL if self.each_level else ""))
