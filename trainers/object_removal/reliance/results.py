"""The result of a measurement: numbers with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from trainers.cells import csv_text
from trainers.hierarchy import missed_when_wrong, shared_levels
from trainers.metrics.blocks import ranked_blocks
from trainers.metrics.bootstrap import bootstrap
from trainers.metrics.measure import Measure
from trainers.metrics.names import Described, describe, parse_all
from trainers.metrics.neighbours import Classes, nearest
from trainers.metrics.scores import score_blocks
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.object_removal.reliance.queries import PLACEBO, SILHOUETTE, TITLES, WHOLE, WITHOUT, Queries

METRICS = ("R_at_1", "HAP")
NEAREST = 10
"""Neighbours that are compared."""


@dataclass(frozen=True, kw_only=True)
class FormScores:
    """The scores of Q queries, for one form of them.

    Attributes:
        metrics: float64 ``[Q]`` by the names of :data:`METRICS`, NaN where a query has no positive.
        stays: float64 ``[Q]``, share of the neighbours of the whole image that are among those of this form.
        missed: float64 ``[Q]``, levels on which the first result disagrees; NaN where it is of the query's class.
    """

    metrics: Mapping[str, np.ndarray]
    stays: np.ndarray
    missed: np.ndarray

    def only(self, some: np.ndarray) -> FormScores:
        """Put NaN for all queries but ``some``, bool ``[Q]``."""

        def kept(values: np.ndarray) -> np.ndarray:
            return np.where(some, values, np.nan)

        return replace(
            self,
            metrics={name: kept(values) for name, values in self.metrics.items()},
            stays=kept(self.stays),
            missed=kept(self.missed),
        )


def score_forms(
    forms: Mapping[str, Tensor], gallery: Tensor, labels: np.ndarray, indices: np.ndarray
) -> dict[str, FormScores]:
    """Search the gallery, whose images are untouched, with every form of the queries.

    A query's own image is taken out of the gallery for each of its forms: whatever was done to it, it would be found
    by what is left.

    Args:
        forms: embeddings ``[Q, D]`` by form, :data:`WHOLE` among them.
        gallery: ``[N, D]``.
        labels: ``[N, L]`` of the gallery, finest first.
        indices: int64 ``[Q]`` of the queries in the gallery.
    """
    metrics = parse_all(METRICS, labels.shape[1])
    classes = Classes(queries=labels[indices], gallery=labels)
    near = {
        form: nearest(queries.double(), gallery.double(), NEAREST, classes=classes, own=indices).ids
        for form, queries in forms.items()
    }
    scores = {}
    for form, queries in forms.items():
        values = score_blocks(ranked_blocks(queries, labels[indices], gallery, labels, indices), metrics).values
        scores[form] = FormScores(
            metrics=values,
            stays=np.array([len(np.intersect1d(a, b)) for a, b in zip(near[WHOLE], near[form], strict=True)])
            / near[form].shape[1],
            missed=missed_when_wrong(shared_levels(labels[near[form][:, 0]], labels[indices]), labels.shape[1]),
        )
    return scores


def chance(labels: np.ndarray, indices: np.ndarray) -> float:
    """Return R@1 of a random order: mean share of the gallery's other images that are of a query's finest class."""
    _, inverse, counts = np.unique(labels[:, 0], return_inverse=True, return_counts=True)
    return float(np.mean((counts[inverse.reshape(-1)[indices]] - 1) / (len(labels) - 1)))


STAYS, MISSED = "stays", "missed"
COLUMNS = (
    *("run", "arm", "title", "form", "measure", "mean", "low", "high", "queries"),
    *("lost", "lost_low", "lost_high"),
)
INTERVALS = "Intervals: 95 %, over queries only; another training may differ by more."


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A form less another one, query by query: what the second lacks beyond what its control lacks.

    Attributes:
        first, second: forms.
        title: what the difference is.
    """

    first: str
    second: str
    title: str


CONTRASTS = {
    f"{contrast.first} - {contrast.second}": contrast
    for contrast in (
        Contrast(first=PLACEBO, second=WITHOUT, title="lost with the object, beyond the placebo"),
        Contrast(first=SILHOUETTE, second=WITHOUT, title="found by the outline alone"),
    )
}
"""Every difference that is judged, by name."""
LOST_FROM_WHOLE = tuple(form for form in TITLES if form != WHOLE)
_OWN = {
    STAYS: Measure(
        name=STAYS,
        title=f"neighbours that stay, of {NEAREST}",
        sentence=f"Share of the {NEAREST} nearest images of the untouched image that are still among them. It follows "
        "how well an embedding is ordered, so it compares forms under one loss, and not losses.",
        family="ranking",
        better="",
    ),
    MISSED: Measure(
        name=MISSED,
        title="levels missed by a wrong first result",
        sentence="Given a first result of another class: on how many levels of the label tree it disagrees with its "
        "query.",
        family="ranking",
        unit="number",
        better="down",
    ),
}


def measures_of(name: str, depth: int) -> tuple[str, ...]:
    """Return the measures of a form or a contrast for labels of ``depth`` levels."""
    if name in CONTRASTS:
        return (*METRICS, STAYS)
    return (*METRICS, *(() if name == WHOLE else (STAYS,)), *((MISSED,) if depth > 1 else ()))


def described(measure: str) -> Described:
    """Describe a metric, :data:`STAYS` or :data:`MISSED` in words."""
    if measure not in _OWN:
        return describe(measure)
    measured = _OWN[measure]
    return Described(
        key=measure, measure=measured, title=measured.title, short=measured.title, sentence=measured.sentence
    )


def title_of(name: str) -> str:
    """Name a form or a contrast in words."""
    return CONTRASTS[name].title if name in CONTRASTS else TITLES[name]


@dataclass(frozen=True, kw_only=True)
class ArmBackground:
    """One arm.

    Attributes:
        run, arm, title: which one.
        step: of its checkpoint.
        scores: by form; empty where ``error`` says why it has none.
    """

    run: str
    arm: int
    title: str
    step: int = 0
    scores: Mapping[str, FormScores]
    error: str | None = None

    @property
    def names(self) -> list[str]:
        """The forms, and the contrasts of those that are there."""
        there = self.scores
        return [
            *there,
            *(name for name, contrast in CONTRASTS.items() if contrast.first in there and contrast.second in there),
        ]

    def values(self, name: str, measure: str) -> np.ndarray:
        """Return a measure of every query of a form, or the difference of a contrast, float64 ``[Q]``."""
        if name in CONTRASTS:
            both = CONTRASTS[name]
            return self.values(both.first, measure) - self.values(both.second, measure)
        scores = self.scores[name]
        beside_metrics = {STAYS: scores.stays, MISSED: scores.missed}
        return beside_metrics[measure] if measure in beside_metrics else scores.metrics[measure]

    def number(self, name: str, measure: str) -> dict[str, Any]:
        """Return the mean over the queries of a form or a contrast, by the names of :data:`COLUMNS`.

        Its interval resamples the queries alone. ``lost`` is how much more the whole images have, query by query; None
        where they cannot be compared.
        """
        values = self.values(name, measure)
        mean = bootstrap(values)
        more: tuple[float | None, ...] = (None, None, None)
        if measure in METRICS and name in LOST_FROM_WHOLE:
            lost = bootstrap(self.values(WHOLE, measure) - values)
            more = (lost.mean, lost.low, lost.high)
        cells = (self.run, self.arm, self.title, name, measure, mean.mean, mean.low, mean.high, mean.queries, *more)
        return dict(zip(COLUMNS, cells, strict=True))

    def numbers(self, depth: int) -> list[dict[str, Any]]:
        """Return every number of the arm for labels of ``depth`` levels: form by form, contrast by contrast."""
        return [self.number(name, measure) for name in self.names for measure in measures_of(name, depth)]


@dataclass(frozen=True, kw_only=True)
class BackgroundResult:
    """A measurement of the arms of a run on the same queries.

    Attributes:
        title: of the images; ``test_set``: they are the run's test set.
        arms: in order.
        indices: int64 ``[Q]``, of the queries in the gallery.
        gallery: images that are searched.
        levels: names of the levels of the labels, finest first.
        fill: what was put in the place of the object, and ``placebo_fill`` beside it.
        chance: R@1 of a random order.
        notes: sentences about what was left out.
    """

    title: str
    test_set: bool
    arms: tuple[ArmBackground, ...]
    indices: np.ndarray
    gallery: int
    levels: tuple[str, ...]
    fill: str
    placebo_fill: str
    chance: float
    notes: tuple[str, ...]

    @classmethod
    def of(cls, objects: ObjectImages, queries: Queries, arms: Iterable[ArmBackground]) -> BackgroundResult:
        """Put together the measurement of ``arms`` with these queries against these images."""
        return cls(
            title=objects.title,
            test_set=objects.test_set,
            arms=tuple(arms),
            indices=queries.indices,
            gallery=len(objects),
            levels=objects.hierarchy.levels,
            fill=queries.fill,
            placebo_fill=queries.placebo_fill,
            chance=chance(objects.labels, queries.indices),
            notes=(*objects.notes, *queries.notes),
        )

    def table(self) -> list[dict[str, Any]]:
        """Return every number of every arm, by the names of :data:`COLUMNS`."""
        return [number for arm in self.arms for number in arm.numbers(len(self.levels))]

    def csv(self) -> str:
        """Write :meth:`table` as CSV with a head."""
        return csv_text(COLUMNS, (row.values() for row in self.table()))

    def json(self) -> dict[str, Any]:
        """Return everything for the page as plain values."""
        return {
            "title": self.title,
            "own": self.test_set,
            "fill": self.fill,
            "placebo_fill": self.placebo_fill,
            "queries": len(self.indices),
            "gallery": self.gallery,
            "chance": self.chance,
            "notes": list(self.notes),
            "levels": list(self.levels),
            "forms": {form: title for form, title in TITLES.items() if any(form in arm.scores for arm in self.arms)},
            "contrasts": {
                name: contrast.title
                for name, contrast in CONTRASTS.items()
                if any(name in arm.names for arm in self.arms)
            },
            "measures": {name: described(name).title for name in measures_of(WITHOUT, len(self.levels))},
            "intervals": INTERVALS,
            "arms": [
                {"run": arm.run, "arm": arm.arm, "title": arm.title, "step": arm.step, "error": arm.error}
                for arm in self.arms
            ],
            "numbers": self.table(),
        }

    def text(self) -> str:
        """Write the numbers as lines for a terminal."""
        head = f"{len(self.indices):,} queries against {self.gallery:,} images of {self.title}; fill: {self.fill}"
        lines = [head, f"R@1 of a random order: {self.chance:.3f}", *self.notes, INTERVALS]
        for arm in self.arms:
            lines += ["", f"{arm.title} (arm {arm.arm} at step {arm.step})"]
            if arm.error:
                lines.append(f"  {arm.error}")
            for number in arm.numbers(len(self.levels)):
                words = f"{title_of(number['form'])}, {described(number['measure']).title}"
                lost = "" if number["lost"] is None else "  lost {lost:.3f} [{lost_low:.3f}, {lost_high:.3f}]"
                lines.append(f"  {words:<78} " + ("{mean:.3f} [{low:.3f}, {high:.3f}]" + lost).format(**number))
        return "\n".join(lines)
